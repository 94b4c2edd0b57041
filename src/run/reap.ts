// Started by the watchdog when the gateway is gone: ends the runs listed on stdin.
import { text } from 'node:stream/consumers'
import { endListed } from './end-processes.ts'
import { outputLimits } from './process.ts'
import type { Listed } from './watchdog.ts'

await endListed(JSON.parse(await text(process.stdin)) as readonly Listed[], outputLimits.graceMs)
