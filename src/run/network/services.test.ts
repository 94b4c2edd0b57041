// The hosts that each backend needs for its model.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { dialects } from '../backends/index.ts'
import { modelPlaces } from './services.ts'

const dir = mkdtempSync(join(tmpdir(), 'aetheel-services-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

function placesOf(
  name: string,
  env: Record<string, string>,
  files: Record<string, string> = {},
  model: string | null = null,
) {
  const dialect = dialects.find(one => one.name === name)
  if (!dialect) throw new Error(name)
  const mounts = Object.entries(files).map(([file, text], i) => {
    const from = join(dir, `${name}-${i}`)
    writeFileSync(from, text)
    return { from, at: join('/home', file) }
  })
  return modelPlaces(dialect, env, mounts, model).map(url => new URL(url).host)
}

test('each backend reaches its own service, and no other', () => {
  expect(placesOf('claude', {})).toContain('api.anthropic.com')
  expect(placesOf('codex', {})).toEqual(['api.openai.com', 'auth.openai.com', 'chatgpt.com'])
  expect(placesOf('gemini', {})).toContain('generativelanguage.googleapis.com')
  expect(placesOf('opencode', {})).toEqual([])
  expect(placesOf('pi', { GROQ_API_KEY: 'x' })).toEqual(['api.groq.com'])
})

test('a base URL replaces the service, or is added where several may be in use', () => {
  expect(placesOf('claude', { ANTHROPIC_BASE_URL: 'http://127.0.0.1:4000/x' })).toEqual(['127.0.0.1:4000'])
  expect(placesOf('gemini', { GOOGLE_GEMINI_BASE_URL: 'https://models.example' })).toEqual(['models.example'])
  expect(placesOf('codex', { OPENAI_BASE_URL: 'https://models.example/v1' })).toContain('models.example')
})

test('clouds: the region decides', () => {
  expect(placesOf('claude', { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1' })).toContain(
    'bedrock-runtime.eu-west-1.amazonaws.com',
  )
  expect(placesOf('claude', { CLAUDE_CODE_USE_VERTEX: '1', CLOUD_ML_REGION: 'europe-west4' })).toContain(
    'europe-west4-aiplatform.googleapis.com',
  )
})

test('providers in settings, logins and the name of the model count', () => {
  const toml = '[model_providers.x]\nbase_url = "http://localhost:8080/v1"\n'
  expect(placesOf('codex', {}, { '.codex/config.toml': toml })).toContain('localhost:8080')
  const models = JSON.stringify({ providers: { x: { baseUrl: 'http://10.0.0.7:8000/v1' } } })
  expect(placesOf('pi', {}, { '.pi/agent/models.json': models })).toEqual(['10.0.0.7:8000'])
  expect(placesOf('pi', {}, { '.pi/agent/auth.json': '{"mistral":{"key":"x"}}' })).toEqual(['api.mistral.ai'])
  expect(placesOf('opencode', {}, {}, 'deepseek/deepseek-chat')).toEqual(['api.deepseek.com'])
  const content = JSON.stringify({ provider: { x: { options: { baseURL: 'https://models.example/v1' } } } })
  expect(placesOf('opencode', { OPENCODE_CONFIG_CONTENT: content })).toEqual(['models.example'])
})

test('variables that lead to credentials name no service', () => {
  expect(placesOf('claude', { AWS_CONTAINER_CREDENTIALS_FULL_URI: 'http://169.254.170.2/x' })).not.toContain(
    '169.254.170.2',
  )
})
