// Configures each CLI to use the fake model: dummy keys, and configuration in a separate home.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Cli } from './install.ts'

const write = (file: string, content: string) => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

export const setups: Record<Cli, (home: string, model: string) => Record<string, string>> = {
  claude: (_, model) => ({ ANTHROPIC_API_KEY: 'sk-ant-dummy', ANTHROPIC_BASE_URL: model }),
  codex(home, model) {
    const provider = `[model_providers.x]\nname = "x"\nbase_url = "${model}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 1\n`
    write(join(home, '.codex', 'config.toml'), `model = "gpt-5"\nmodel_provider = "x"\n${provider}`)
    return { OPENAI_API_KEY: 'sk-dummy' }
  },
  gemini(home, model) {
    write(join(home, '.gemini', 'settings.json'), '{"security":{"auth":{"selectedType":"gemini-api-key"}}}')
    return { GEMINI_API_KEY: 'dummy', GOOGLE_GEMINI_BASE_URL: model, BACKEND_MODEL: 'gemini-2.5-flash' }
  },
  opencode(_, model) {
    const provider = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${model}/v1`, apiKey: 'dummy' },
      models: { m: {} },
    }
    return {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({ provider: { x: provider } }),
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      BACKEND_MODEL: 'x/m',
    }
  },
  pi(home, model) {
    const provider = { baseUrl: `${model}/v1`, api: 'openai-completions', apiKey: 'dummy', models: [{ id: 'm' }] }
    write(join(home, '.pi', 'agent', 'models.json'), JSON.stringify({ providers: { x: provider } }))
    write(join(home, '.pi', 'agent', 'settings.json'), JSON.stringify({ retry: { baseDelayMs: 200 } }))
    return { BACKEND_MODEL: 'x/m' }
  },
}
