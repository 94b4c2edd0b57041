// Deliberate faults: one line of the product is changed while it is loaded, to check that a test notices.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import type { Fault } from './fault.ts'
import { requestFaults } from './request-faults.ts'

/** A change at an offset of the text, as made by test/mutants; its name is its JSON. */
export interface Edit {
  /** Below `src/`. */
  readonly file: string
  readonly start: number
  readonly end: number
  readonly put: string
}

export const faults: Record<string, Fault> = {
  ...requestFaults,
  'skip a commit': {
    file: 'store/database.ts',
    find: 'commit.run()\n',
    put: 'Math.random() < 0.15 ? rollback.run() : commit.run()\n',
  },
  'say accepted before it is on disk': {
    file: 'chat/webchat.ts',
    find: 'const { event, answer } = await offer({ conversation, ...frame })',
    put: `client.send({ type: 'accepted', id: frame.id }); await new Promise(go => setTimeout(go, 50))
        const { event, answer } = await offer({ conversation, ...frame })`,
  },
  'accept without a key': {
    file: 'chat/webchat.ts',
    find: '`${name}:${conversation}:${id}`',
    put: '`${name}:${conversation}:${id}:${Math.random()}`',
  },
  'forget the running event': {
    file: 'store/queue-store.ts',
    find: "SET state = 'waiting', interrupted = 1 WHERE queue",
    put: "SET state = 'done' WHERE queue",
  },
  'forget to say that it was interrupted': {
    file: 'store/queue-store.ts',
    find: 'interrupted: row.interrupted === 1',
    put: 'interrupted: false',
  },
  'say again that it was interrupted': {
    file: 'store/queue-store.ts',
    find: 'sent = 0, interrupted = 0',
    put: 'sent = 0',
    noticedBy: { test: 'test/contracts/lanes.contract.test.ts', name: 'is marked as interrupted once' },
  },
  'send the final outside of the commit': {
    file: 'store/queue-store.ts',
    find: "if (outcome.type !== 'cut') follow(",
    put: `if (outcome.type !== 'cut') setTimeout(() => void db.write(() => follow(outcome.followUps ?? [], [])), 200)
        if (outcome.type !== 'cut' && Math.random() < 0) follow(`,
  },
  'leave what ran before running': {
    file: 'run/orphans.ts',
    find: 'if (orphans.length === 0) break',
    put: 'if (orphans.length >= 0) break',
    noticedBy: { test: 'test/scenarios/left-behind.test.ts', name: 'is ended by the next start' },
  },
  'leave runs to themselves when the gateway is killed': {
    file: 'run/watchdog.ts',
    find: 'dog?.stdin?.write(',
    put: 'void (',
    noticedBy: { test: 'test/scenarios/left-behind.test.ts', name: 'claude for one turn' },
  },
  'look for what a run has started by its parents alone': {
    file: 'run/process-table.ts',
    find: 'return tags.some(tag =>',
    put: 'return tags.length < 0 && tags.some(tag =>',
    noticedBy: { test: 'src/run/process.test.ts', name: 'as a daemon, forked twice' },
  },
  'signal the number of one that is gone': {
    file: 'run/end-processes.ts',
    find: 'child.exitCode === null && child.signalCode === null',
    put: 'child.pid !== undefined',
    noticedBy: { test: 'src/run/process.test.ts', name: 'is not signalled any more' },
  },
  'hear of no failure to start': {
    file: 'run/process.ts',
    find: "child.on('error', resolve)",
    put: 'void resolve',
    noticedBy: { test: 'src/run/process.test.ts', name: 'no descriptors left' },
  },
  'let a turn without room cost a retry': {
    file: 'run/turn.ts',
    find: "if (ended.why === 'no-room') return untilThereIsRoom(taken, last.backend)",
    put: '',
    noticedBy: { test: 'src/run/process.test.ts', name: 'without using up a retry' },
  },
  'digest what was written before the end': {
    file: 'run/process.ts',
    find: 'lines.drop()',
    put: '',
    noticedBy: { test: 'src/run/process.test.ts', name: 'nothing more of what it wrote' },
  },
  'take a pause of our own for silence': {
    file: 'run/events.ts',
    find: 'if (clock.now() - due <= lateMs) left -= piece',
    put: 'left -= clock.now() - due + piece',
    noticedBy: { test: 'test/scenarios/paused.test.ts', name: 'waited in the pipe' },
  },
  'keep the servers of conversations that are over': {
    file: 'run/backends/gemini-sessions.ts',
    find: 'void endListed(',
    put: 'void ([] as unknown[]).concat(',
    noticedBy: { test: 'src/run/backends/gemini-memory.test.ts', name: 'one conversation too many' },
  },
  'the newest first': {
    file: 'lanes/lane-index.ts',
    find: 'const first = due(lane, now)\n',
    put: 'lane.waiting.reverse(); const first = due(lane, now)\n',
  },
  'never mark as delivered': {
    file: 'send/deliveries.ts',
    find: "return { type: 'done' }",
    put: "return { type: 'later', at: clock.now() + 50 }",
  },
  'blame a guest for what the owner edits after a stop': {
    file: 'store/queue-store.ts',
    find: "WHERE queue = 'in' AND ${running}`,",
    put: "WHERE queue = 'in' AND (state = 'running' OR interrupted = 1)`,",
    noticedBy: { test: 'test/scenarios/file-guard.test.ts', name: 'an edit by the owner after a SIGTERM' },
  },
  'blame a guest for what the owner edits after a kill': {
    file: 'store/actor.ts',
    find: "return first > dead ? 'after' : 'unclear'",
    put: "return 'during'",
    noticedBy: { test: 'src/store/file-guard.test.ts', name: 'what was changed long after is the owner’s' },
  },
  'write on into a database that was deleted': {
    file: 'store/database.ts',
    find: 'health.mustBeThere()\n',
    put: '\n',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'is deleted while it runs' },
  },
  'start twice where the database was deleted': {
    file: 'store/database-lock.ts',
    find: '; BEGIN EXCLUSIVE',
    put: '',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'is deleted while it runs' },
  },
  'leave whoever waits for an answer that cannot be stored': {
    file: 'lanes/attempts.ts',
    find: "if (settled === 'never') rules.unstored?.(taken)",
    put: '',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'accepted messages fail visibly' },
  },
  'accept into a damaged database': {
    file: 'store/database-health.ts',
    find: 'isDamaged = true',
    put: '',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'accepted messages fail visibly' },
  },
  'hang up on whoever cannot be told what was said': {
    file: 'chat/webchat.ts',
    find: 'catchUp(conversation, client).catch(error => broke(error, null))',
    put: "catchUp(conversation, client).catch(() => socket.close(1011, 'internal error'))",
    noticedBy: {
      test: 'test/scenarios/database.test.ts',
      name: 'in the history prevents no connection',
    },
  },
  'say that all is well on a full disk': {
    file: 'store/database-health.ts',
    find: "const disk = path === ':memory:' ? null : diskTrouble(path)",
    put: 'const disk = null as string | null',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'because it is full is reported' },
  },
  'forget how new the database was': {
    file: 'store/database.ts',
    find: 'watermark.note()',
    put: '',
    noticedBy: { test: 'test/scenarios/database.test.ts', name: 'that lost its write-ahead log' },
  },
  'refuse what was missed while away': {
    file: 'app/wiring/chats.ts',
    find: 'missed === true',
    put: 'missed === undefined && false',
    noticedBy: { test: 'test/scenarios/discord-missed.test.ts', name: '(session new)' },
  },
  'take what a resumed session tells again for new': {
    file: 'chat/discord/connection.ts',
    find: 'missed: !line.live',
    put: 'missed: false',
    noticedBy: { test: 'test/scenarios/discord-missed.test.ts', name: '(session resumed)' },
  },
  'do not look for first direct messages': {
    file: 'chat/discord/inbound.ts',
    find: 'if (horizon !== null) for await',
    put: 'if (horizon === undefined) for await',
    noticedBy: { test: 'test/scenarios/discord-missed.test.ts', name: 'of an owner, a listed user' },
  },
  'move on before direct messages were looked for': {
    file: 'chat/discord/dispatches.ts',
    find: '!directsAway && ',
    put: '',
    noticedBy: { test: 'test/scenarios/discord-missed.test.ts', name: 'is answered after a kill' },
  },
  'hear a direct message before those that were missed': {
    file: 'chat/discord/inbound.ts',
    find: 'if (begun && cursors',
    put: 'if (begun && Math.random() < 0 && cursors',
    noticedBy: { test: 'test/scenarios/discord-missed.test.ts', name: 'comes before messages sent' },
  },
  'take what an earlier delivery said for this one': {
    file: 'chat/discord/poster.ts',
    find: 'known.reduce(laterOf)',
    put: "'0'",
    noticedBy: {
      test: 'test/scenarios/discord-sending.test.ts',
      name: 'a message of an older delivery is not mistaken for a later one',
    },
  },
  'take the message of another delivery for this one': {
    file: 'chat/discord/poster.ts',
    find: ' && !posts.isAnother(channel, nonce, one.id)',
    put: '',
    noticedBy: {
      test: 'test/scenarios/discord-sending.test.ts',
      name: 'of two conversations that post the same text in one channel',
    },
  },
  'give an answer up when its draft cannot be edited': {
    file: 'chat/discord/send.ts',
    find: 'trouble.code !== codes.tooLarge) return false',
    put: 'trouble.code === codes.unknownMessage) return false',
    noticedBy: {
      test: 'test/scenarios/discord-delivery.test.ts',
      name: 'a thread that is closed during the draft gets the answer',
    },
  },
  'post a draft that nobody knows of': {
    file: 'chat/discord/send.ts',
    find: 'answers.drafted(about, draft)\n',
    put: '\n',
    noticedBy: {
      test: 'test/scenarios/discord-sending.test.ts',
      name: 'a draft in flight at a kill becomes the final',
    },
  },
  'post a draft between the pieces of an answer': {
    file: 'app/wiring/chats.ts',
    find: 'outbox.isBusy(`${name}:${conversation}`)',
    put: 'false',
    noticedBy: { test: 'test/scenarios/discord-delivery.test.ts', name: 'the pieces of an answer are adjacent' },
  },
  'let a delivery that fails hold its conversation': {
    file: 'lanes/machine.ts',
    find: 'aside: retries >= patience',
    put: 'aside: false',
    noticedBy: {
      test: 'test/contracts/lanes.contract.test.ts',
      name: 'an item that fails again and again lets the others pass',
    },
  },
  'let commands wait behind a delivery that fails': {
    file: 'app/wiring/chats.ts',
    find: 'delivery.command === true',
    put: 'false',
    noticedBy: {
      test: 'test/scenarios/discord-delivery.test.ts',
      name: 'a delivery that Discord does not accept delays no command',
    },
  },
  'hand over what was never delivered': {
    file: 'store/history.ts',
    find: "delivery.ok && state !== 'failed'",
    put: 'delivery.ok',
    noticedBy: {
      test: 'test/scenarios/discord-delivery.test.ts',
      name: 'an answer that Discord refused is not passed to the agent',
    },
  },
  'take thinking for silence': {
    file: 'run/events.ts',
    find: "restartSilence(event.type === 'thinking' && event.quietly)",
    put: "if (event.type !== 'thinking' && event.type !== 'alive') restartSilence()",
    noticedBy: { test: 'src/run/events.test.ts', name: 'any sign of life restarts the silence timeout' },
  },
  'say a message again with every retry': {
    file: 'run/attempt.ts',
    find: "received: received === 0 ? 'nothing'",
    put: "received: received >= 0 ? 'nothing'",
    noticedBy: {
      test: 'test/contracts/backend-signs.contract.test.ts',
      name: 'claude has a message only once in its session',
    },
  },
  'take an answer that nobody asked for': {
    file: 'run/backends/claude-read.ts',
    find: "let mine = own === ''",
    put: 'let mine = true',
    noticedBy: { test: 'test/contracts/backend-stays-up.contract.test.ts', name: 'is not used as an answer' },
  },
}

/** Command-line arguments for a gateway with this fault. */
export const faultArguments = (name: string): string[] => {
  if (!faults[name] && !editOf(name))
    throw new Error(`no such fault: ${name}; there are: ${Object.keys(faults).join(', ')}`)
  return ['--import', `${import.meta.url}?fault=${encodeURIComponent(name)}`]
}

/** The changed source if the fault is in this module; otherwise the source as it is. */
export function withFault(name: string, url: string, source: string): string {
  const edit = editOf(name)
  if (edit)
    return url.endsWith(`/src/${edit.file}`) ? source.slice(0, edit.start) + edit.put + source.slice(edit.end) : source
  const fault = faults[name]
  if (!fault || !url.endsWith(`/src/${fault.file}`)) return source
  if (!fits(fault, source)) throw new Error(`the fault "${name}" does not fit ${fault.file} any more`)
  return source.replace(fault.find, () => fault.put)
}

const editOf = (name: string): Edit | null => (name.startsWith('{') ? JSON.parse(name) : null)

/** Whether the fault applies to the current code. */
export const applies = (fault: Fault): boolean =>
  fits(fault, readFileSync(join(import.meta.dirname, '../../src', fault.file), 'utf8'))

const fits = ({ find }: Fault, source: string) => source.split(find).length === 2

const chosen = new URL(import.meta.url).searchParams.get('fault')
if (chosen !== null)
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (!url.includes('/src/')) return loaded
      return { ...loaded, source: withFault(chosen, url, String(loaded.source)) }
    },
  })
