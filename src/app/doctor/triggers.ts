// The workspace checks of `aetheel doctor`: which jobs, hooks, webhooks and skills are in effect, and which cannot be used.

import type { PlaceCheck } from '../../base/chat-module.ts'
import type { Check } from '../../base/check.ts'
import { counted } from '../../base/counted.ts'
import { type Place, placeName, readPlace } from '../../base/event.ts'
import { readAgentsFile, readSchedules } from '../../clock/index.ts'
import { readHooks, readWebhooks } from '../../hooks/index.ts'
import { createSkills } from '../../prompt/index.ts'

export interface TriggerContext {
  readonly configDir: string
  /** The value of an environment variable. Null if it is not set. */
  variable(name: string): string | null
  /** Where answers go if no channel is named. Null if there is no default. */
  readonly defaultChannel: string | null
  readonly heartbeat: { readonly enabled: boolean; readonly silent: boolean }
  readonly chats: readonly [string, ...string[]]
  /** Whether something can be sent to this place. */
  check(place: Place): Promise<PlaceCheck>
}

/** Further problems of the same kind are only counted. */
const mostTroubles = 5

export async function triggerChecks(context: TriggerContext): Promise<readonly Check[]> {
  const agents = await readAgentsFile(context.configDir)
  return [
    ...(await scheduleChecks(context)),
    ...(await hookChecks(agents, context)),
    ...(await webhookChecks(agents, context)),
    ...(await skillChecks(context)),
  ]
}

async function scheduleChecks(context: TriggerContext): Promise<readonly Check[]> {
  const { jobs, troubles } = await readSchedules(context.configDir)
  const paused = jobs.filter(job => job.paused).length
  const { enabled, silent } = context.heartbeat
  const off = enabled ? '' : '; heartbeats are off (heartbeat.enabled)'
  const beside = `${paused === 0 ? '' : `, ${paused} of them paused`}${off}`
  const speaking = jobs.filter(({ kind }) => kind !== 'heartbeat' || (enabled && !silent))
  return [
    ...found('schedules', jobs.length, `${counted(jobs.length, 'job')}${beside}`, troubles.length),
    ...warnings(
      'schedules',
      troubles.map(({ file, name, why }) => ({ detail: `${name === '' ? file : `${name} in ${file}`}: ${why}` })),
    ),
    ...(await placeChecks('schedules', speaking, context)),
  ]
}

async function hookChecks(agents: string, context: TriggerContext): Promise<readonly Check[]> {
  const { hooks, troubles } = readHooks(agents)
  const names = Object.keys(hooks)
  return [
    ...found('hooks', names.length, names.join(', '), troubles.length),
    ...warnings(
      'hooks',
      troubles.map(({ file, name, why }) => ({ detail: `${name} in ${file}: ${why}` })),
    ),
    ...(await placeChecks(
      'hooks',
      Object.entries(hooks).map(([name, { channel }]) => ({ name, channel })),
      context,
    )),
  ]
}

async function webhookChecks(agents: string, context: TriggerContext): Promise<readonly Check[]> {
  const { webhooks, troubles } = readWebhooks(agents)
  const [open, shut] = [true, false].map(wanted =>
    webhooks.filter(({ secret }) => ((context.variable(secret) ?? '').trim() !== '') === wanted),
  )
  const names = (open ?? []).map(({ name }) => `/hooks/${name}`).join(', ')
  return [
    ...found('webhooks', open?.length ?? 0, names, troubles.length + (shut?.length ?? 0)),
    ...warnings('webhooks', [
      ...troubles.map(({ file, name, why }) => ({ detail: `${name} in ${file}: ${why}` })),
      ...(shut ?? []).map(({ name, secret }) => ({
        detail: `${name} is refused: the variable ${secret} is not set here`,
        fix: `Write ${secret}=… into .env, with the secret that the sender uses, and start the gateway again.`,
      })),
    ]),
    ...(await placeChecks('webhooks', webhooks, context)),
  ]
}

async function skillChecks({ configDir }: TriggerContext): Promise<readonly Check[]> {
  const { skills, troubles } = await createSkills(configDir).read()
  return [
    ...found('skills', skills.length, skills.map(({ name }) => name).join(', '), troubles.length),
    ...warnings(
      'skills',
      troubles.map(({ file, why }) => ({ detail: `${file} ${why}` })),
    ),
  ]
}

/** One line for all valid entries. If there are only invalid ones, their warnings are enough. */
function found(name: string, count: number, detail: string, troubles: number): readonly Check[] {
  if (count > 0) return [{ name, status: 'ok', detail: detail.length > 200 ? `${count} of them` : detail }]
  return troubles > 0 ? [] : [{ name, status: 'off', detail: 'none' }]
}

function warnings(name: string, all: readonly Pick<Check, 'detail' | 'fix'>[]): readonly Check[] {
  const shown = all.slice(0, mostTroubles).map((one): Check => ({ name, status: 'warn', ...one }))
  const more = all.length - shown.length
  return more === 0 ? shown : [...shown, { name, status: 'warn', detail: `and ${more} more` }]
}

/** Answers that nobody would see. This is allowed, since the agent may write files instead, but it is seldom intended. */
async function placeChecks(
  name: string,
  all: readonly { readonly name: string; readonly channel: string | null }[],
  context: TriggerContext,
): Promise<readonly Check[]> {
  const { defaultChannel, chats } = context
  const placeless = all.filter(({ channel }) => readPlace(channel ?? defaultChannel, chats) === null)
  const astray = all.filter(({ channel }) => {
    const place = readPlace(channel ?? defaultChannel, chats)
    return place !== null && !chats.includes(place.chat)
  })
  return warnings(name, [
    ...(placeless.length === 0
      ? []
      : [
          {
            detail: `the answers of ${listed(placeless)} go nowhere`,
            fix: `Name a place with a line such as "Channel: ${chats[0]}:home", or one for all of them: OUTPUT_CHANNEL_ID=${chats[0]}:home.`,
          },
        ]),
    ...(astray.length === 0
      ? []
      : [
          {
            detail: `the answers of ${listed(astray)} go to a chat that is not on`,
            fix: `The chats that are on: ${chats.join(', ')}.`,
          },
        ]),
    ...(await unreachable(all, context)),
  ])
}

/** Answers that would be lost after the turn was paid for. */
async function unreachable(
  all: readonly { readonly name: string; readonly channel: string | null }[],
  { defaultChannel, chats, check }: TriggerContext,
): Promise<readonly Pick<Check, 'detail' | 'fix'>[]> {
  const users = new Map<string, { readonly place: Place; readonly by: { readonly name: string }[] }>()
  for (const one of all) {
    const place = readPlace(one.channel ?? defaultChannel, chats)
    if (!place || !chats.includes(place.chat)) continue
    const known = users.get(placeName(place)) ?? { place, by: [] }
    users.set(placeName(place), known)
    known.by.push(one)
  }
  const found = [...users].map(async ([channel, { place, by }]) => {
    const checked = await check(place)
    if (checked.type !== 'refused') return []
    const fix = 'Name another channel, or let the bot write there.'
    return [{ detail: `the answers of ${listed(by)} cannot be sent to ${channel}: ${checked.why}`, fix }]
  })
  return (await Promise.all(found)).flat()
}

const listed = (all: readonly { readonly name: string }[]): string => {
  const names = all.slice(0, 3).map(({ name }) => name)
  return all.length > names.length ? `${names.join(', ')} and ${all.length - names.length} more` : names.join(', ')
}
