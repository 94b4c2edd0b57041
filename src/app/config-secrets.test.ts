// Secrets stay hidden.
import fc from 'fast-check'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { configFixture } from './config.fixture.ts'
import { type Loaded, secretsOf, showProblems } from './config.ts'

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
      const told = loaded === undefined ? '' : spoken(loaded)
      for (const part of [hidden, JSON.stringify(hidden).slice(1, -1), hidden.slice(0, 8)])
        expect(told).not.toContain(part)
    }),
    { numRuns: 300 },
  )
})

test('a secret is hidden even when it is short', async () => {
  expect(await complaints({ HTTP_TOKEN: 'xyz' })).toEqual([
    'http.token (HTTP_TOKEN): ******** from environment; must be at least 16 characters without blanks',
  ])
})

test('the secrets for the log are those of the options and of variables that look like one', async () => {
  await writeConfig({ env: { vars: { DB_PASSWORD: 'hunter22', PLAIN: 'visible', SHORT_KEY: '1' } } })
  const { config, environment } = await good({
    DISCORD_BOT_TOKEN: 'discord-token',
    ANTHROPIC_API_KEY: 'sk-anthropic',
    HTTP_TOKEN: 'abcdefghijklmnop',
    OPENAI_API_KEY: 'sk-openai',
    HOME: '/home/someone',
  })
  const own = ['discord-token', 'sk-anthropic', 'abcdefghijklmnop', 'hunter22']
  expect(secretsOf(config).sort()).toEqual([...own].sort())
  expect(secretsOf(config, environment).sort()).toEqual([...own, 'sk-openai'].sort())
})
