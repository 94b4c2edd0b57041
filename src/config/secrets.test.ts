// Secrets stay hidden.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the notation of config.json
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { configFixture } from './config.fixture.ts'
import type { Loaded } from './load.ts'
import { showProblems } from './report.ts'

const { complaints, good, load, writeConfig } = configFixture({ beforeEach, afterEach })

/** Everything a person could be shown. */
const spoken = (loaded: Loaded): string =>
  [...loaded.warnings, loaded.ok ? JSON.stringify(loaded.values) : showProblems(loaded.problems)].join('\n')

test('no secret is ever shown, wherever it was written and whatever else is wrong', async () => {
  const secret = fc.stringMatching(/^[A-Za-z0-9"\\$-]{8,120}$/).map(text => `S3${text}`)
  const misplaced = fc.constantFrom(
    'agent.model',
    'http.port',
    'agent.backend',
    'allowed_tools',
    'timezone',
    'nonsense',
  )
  const names = fc.constantFrom('DISCORD_BOT_TOKEN', 'ANTHROPIC_API_KEY', 'HTTP_TOKEN', 'GH_TOKEN', 'my_password')
  const own = fc.constantFrom('discord.bot_token', 'anthropic.api_key', 'http.token')
  const broken = fc.constantFrom(
    {},
    { DISCORD: 'maybe', HTTP_PORT: 'x' },
    { HTTP_HOST: '0.0.0.0', BACKEND_MAX_TURNS: 'x' },
  )
  await fc.assert(
    fc.asyncProperty(secret, misplaced, names, own, broken, fc.nat(4), async (hidden, wrong, name, key, env, where) => {
      await writeConfig({})
      const padded = `${'x'.repeat(40)}${hidden}`
      const literal = hidden.replaceAll('${', '$${')
      const loads: (() => Promise<Loaded>)[] = [
        () => load({ ...env, [name]: hidden, BACKEND_MODEL: padded, LOG_LEVEL: padded }),
        () => writeConfig({ [key]: literal, [wrong]: `${'x'.repeat(60)}${literal}` }).then(() => load(env)),
        () =>
          writeConfig({ [key]: [literal], env: { vars: { [name]: literal } }, [wrong]: `\${${name}}` }).then(() =>
            load(env),
          ),
        () => writeConfig({ [key]: { inner: literal } }).then(() => load(env)),
        () => writeConfig(`{ "${key}": ${hidden} }`).then(() => load(env)),
      ]
      const loaded = await loads[where]?.()
      const shown = loaded === undefined ? '' : spoken(loaded)
      for (const part of [hidden, JSON.stringify(hidden).slice(1, -1), hidden.slice(0, 8)])
        expect(shown).not.toContain(part)
    }),
    { numRuns: 300 },
  )
})

test('a secret is hidden even when it is short', async () => {
  expect(await complaints({ HTTP_TOKEN: 'xyz' })).toEqual([
    'http.token (HTTP_TOKEN): ******** from environment; must be at least 16 characters without spaces',
  ])
})

test('the secrets for the log are those of the options and of variables that look like one', async () => {
  await writeConfig({ env: { vars: { DB_PASSWORD: 'hunter22', PLAIN: 'visible', SHORT_KEY: '1' } } })
  const { secrets } = await good({
    DISCORD_BOT_TOKEN: 'discord-token',
    ANTHROPIC_API_KEY: 'sk-anthropic',
    HTTP_TOKEN: 'abcdefghijklmnop',
    OPENAI_API_KEY: 'sk-openai',
    HOME: '/home/someone',
  })
  const own = ['discord-token', 'sk-anthropic', 'abcdefghijklmnop', 'hunter22']
  expect([...secrets].sort()).toEqual([...own, 'sk-openai'].sort())
})

test('mistakes inside a structured value name the part and hide its value', async () => {
  await writeConfig({
    mcp: {
      servers: {
        notes: { command: 'notes-server', args: 'all-of-it', cwd: '/srv' },
        mail: { env: { MAIL_PASSWORD: 12345678 } },
        far: { url: 'https://example.org', headers: 'Bearer swordfish' },
        'two words': { command: 'x' },
      },
    },
    budget: { source_usd: { cron: 'lots' } },
  })
  const [servers = '', budget = ''] = await complaints()
  expect(servers).toContain(
    'from config.json; notes.args must be a list, notes.cwd is not known, mail.command is missing, mail.env.MAIL_PASSWORD must be text, far.headers must be an object; it must be an object of servers by name',
  )
  expect(servers).not.toMatch(/swordfish|12345678|all-of-it/)
  expect(budget).toContain('cron is not valid; it must be amounts in US dollars')
  await writeConfig({ mcp: { servers: { 'two words': { command: 'x' } } } })
  expect((await complaints())[0]).toContain('two words is not valid; it must be')
})

test('a secret from a variable stays hidden, whatever the variable is called', async () => {
  const servers = {
    notes: { command: 'notes-server', args: ['${HOME}'], env: { AUTH: '${NOTES}' } },
    far: { url: 'https://example.org', headers: { Authorization: 'Bearer ${FAR}' } },
  }
  await writeConfig({ mcp: { servers }, agent: { model: 'x-${NOTES}', cli_path: '${HOME}/bin', sdk_path: '${FAR}' } })
  const env = { NOTES: 'swordfish', FAR: 'open-sesame', HOME: '/home/me' }
  const loaded = await good(env)
  expect([...loaded.secrets].sort()).toEqual(['Bearer open-sesame', 'open-sesame', 'swordfish'])
  const shown = Object.fromEntries(loaded.values.map(({ key, value }) => [key, value]))
  expect(shown).toMatchObject({
    ...{ 'mcp.servers': '********', 'agent.model': 'x-********', 'agent.sdk_path': '********' },
    'agent.cli_path': '/home/me/bin',
  })
  expect(spoken(loaded)).not.toMatch(/swordfish|sesame/)

  await writeConfig({ mcp: { servers: { ...servers, bad: { command: 'x', args: ['${GONE}'] } } }, timezone: '${FAR}' })
  const report = spoken(await load(env))
  expect(report).toContain('bad.args.0 names the variable GONE')
  expect(report).not.toMatch(/swordfish|sesame/)
})
