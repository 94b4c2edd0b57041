// Application commands: validation of definitions, and the registered ones.
import { asJson, asList } from './body.ts'
import { type Form, openForm, refusal } from './refusal.ts'
import type { Json, State } from './state.ts'
import type { Compatible } from './types.ts'

export interface Registered extends Json {
  readonly id: string
  readonly name: string
}

interface QueueStore {
  registered: Registered[]
  puts: number
}

const slashName = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u

const checkName = (form: Form, path: string, name: unknown): void => {
  form.length(path, name, 1, 32)
  if (typeof name !== 'string' || (slashName.test(name) && name === name.toLowerCase())) return
  form.add(path, 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid')
}

const checkChoices = (form: Form, path: string, choices: readonly Json[]): void => {
  form.count(path, choices, 25)
  choices.forEach((choice, at) => {
    form.length(`${path}.${at}.name`, choice.name, 1, 100)
    if (typeof choice.value === 'string') form.length(`${path}.${at}.value`, choice.value, 0, 100)
  })
}

const checkOptions = (form: Form, path: string, options: readonly Json[]): void => {
  form.count(path, options, 25)
  const names = options.map(option => option.name)
  if (new Set(names).size !== names.length) {
    form.add(path, 'APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS', 'Option name already exists')
  }
  options.forEach((option, at) => {
    const here = `${path}.${at}`
    const type = option.type
    if (typeof type !== 'number' || type < 1 || type > 11) {
      form.add(`${here}.type`, 'BASE_TYPE_CHOICES', 'Value must be one of {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}.')
    }
    checkName(form, `${here}.name`, option.name)
    form.length(`${here}.description`, option.description, 1, 100)
    const choices = asList(option.choices)
    checkChoices(form, `${here}.choices`, choices)
    if (option.autocomplete === true && choices.length > 0) {
      form.add(here, 'APPLICATION_COMMAND_OPTIONS_CHOICES_INVALID', 'Options with autocomplete cannot have choices')
    }
    if (option.required === true && options.slice(0, at).some(earlier => earlier.required !== true)) {
      form.add(
        here,
        'APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
        'Required options must be placed before non-required options',
      )
    }
    checkOptions(form, `${here}.options`, asList(option.options))
  })
}

const refuseByChoice = (form: Form, { refusedOptions = [], refusedCommands = [] }: Compatible, list: readonly Json[]) =>
  list.forEach((command, at) => {
    if (refusedCommands.includes(String(command.name))) form.add(`${at}.name`, 'REFUSED', 'Not here')
    asList(command.options).forEach((option, nth) => {
      if (refusedOptions.includes(Number(option.type))) form.add(`${at}.options.${nth}.type`, 'REFUSED', 'Not here')
    })
  })

const check = (list: readonly Json[], compatible: Compatible): void => {
  const form = openForm()
  refuseByChoice(form, compatible, list)
  if (list.length > 100) form.add('commands', 'APPLICATION_COMMAND_TOO_LARGE', 'Must be 100 or fewer in length.')
  list.forEach((command, at) => {
    if ((command.type ?? 1) === 1) {
      checkName(form, `${at}.name`, command.name)
      form.length(`${at}.description`, command.description, 1, 100)
      checkOptions(form, `${at}.options`, asList(command.options))
    } else form.length(`${at}.name`, command.name, 1, 32)
    const twin = list.findIndex(other => other.name === command.name && (other.type ?? 1) === (command.type ?? 1))
    if (twin !== at) {
      form.add(`${at}.name`, 'APPLICATION_COMMANDS_DUPLICATE_NAME', 'Application command names must be unique')
    }
  })
  form.done()
}

export const createCommands = (state: State) => {
  const shelves = new Map<string, QueueStore>()
  const created: number[] = []
  const queueStore = (guild: string | null): QueueStore => {
    const key = guild ?? 'global'
    const found = shelves.get(key) ?? { registered: [], puts: 0 }
    shelves.set(key, found)
    return found
  }
  return {
    look: (guild: string | null): QueueStore => queueStore(guild),
    put(guild: string | null, body: unknown): Registered[] {
      const list = asList(body)
      check(list, state.compatible)
      const { registered } = queueStore(guild)
      const day = state.now() - 86_400_000
      while (created[0] !== undefined && created[0] < day) created.shift()
      const fresh = list.filter(command => !registered.some(known => known.name === command.name))
      if (created.length + fresh.length > 200) throw refusal(30034)
      created.push(...fresh.map(() => state.now()))
      const next = list.map(command => ({
        type: 1,
        default_member_permissions: null,
        nsfw: false,
        contexts: null,
        integration_types: [0],
        ...command,
        name: String(command.name),
        id: registered.find(known => known.name === command.name)?.id ?? state.nextId(),
        application_id: state.applicationId,
        version: state.nextId(),
        ...(guild === null ? {} : { guild_id: guild }),
      }))
      const kept = queueStore(guild)
      kept.registered = next
      kept.puts++
      return next
    },
    /** Adds one, or replaces the one with the same name. */
    add(guild: string | null, body: unknown): Registered | undefined {
      const { registered, puts } = queueStore(guild)
      const others = registered.filter(known => known.name !== asJson(body).name)
      const added = this.put(guild, [...others, asJson(body)]).at(-1)
      queueStore(guild).puts = puts
      return added
    },
    /** The command offered in that guild (null: a DM). */
    offered(guild: string | null, name: string): Registered | null {
      const ofGuild = guild === null ? [] : queueStore(guild).registered
      const found = [...ofGuild, ...queueStore(null).registered].find(command => command.name === name)
      if (found === undefined) return null
      const contexts = found.contexts
      if (Array.isArray(contexts) && !contexts.includes(guild === null ? 1 : 0)) return null
      return found
    },
  }
}

export type Commands = ReturnType<typeof createCommands>
