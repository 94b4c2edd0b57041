// Where the models of each backend are: what a confined turn must be able to reach to work at all.

import { readFileSync } from 'node:fs'
import type { Confined, Mount } from '../box-home.ts'

type Environment = Readonly<Record<string, string>>

/** URLs of everything that this backend may ask for its models. */
export function modelPlaces(
  { confined }: { readonly confined: Confined },
  env: Environment,
  mounts: readonly Mount[],
  model: string | null,
): readonly string[] {
  const texts = mounts.map(({ from, at }) => ({ at, text: readOr(from) }))
  const isNaming = (at: string) => confined.naming?.some(file => at.endsWith(`/${file}`)) === true
  const named = [
    ...texts.filter(({ at }) => isNaming(at)).map(({ text }) => text),
    ...Object.entries(env).flatMap(([name, value]) => (naming.test(name) ? value : [])),
  ]
  const logins = texts.filter(({ at }) => !isNaming(at)).map(({ text }) => text)
  return [
    ...confined.services(env, logins.join('\n'), model).map(host => `https://${host}/`),
    ...named.flatMap(text => text.match(/https?:\/\/[^\s"'<>\\]+/g) ?? []),
  ]
}

/** Variables with the address of a service of models. Others, such as those of credentials, lead elsewhere. */
const naming = /(?:BASE_URL|BASE_PATH|_ENDPOINT|ENDPOINT_URL|CONFIG_CONTENT)$/

function readOr(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

const anthropic = ['api.anthropic.com', 'platform.claude.com', 'console.anthropic.com']
const openai = ['api.openai.com', 'auth.openai.com', 'chatgpt.com']
const gemini = ['generativelanguage.googleapis.com', 'cloudcode-pa.googleapis.com', 'oauth2.googleapis.com']

function bedrock(env: Environment): readonly string[] {
  const region = env.AWS_REGION ?? env.AWS_DEFAULT_REGION ?? 'us-east-1'
  return ['bedrock-runtime', 'bedrock', 'sts'].map(name => `${name}.${region}.amazonaws.com`)
}

function vertex(env: Environment): readonly string[] {
  const region = env.CLOUD_ML_REGION ?? env.GOOGLE_CLOUD_LOCATION ?? env.GOOGLE_VERTEX_LOCATION ?? 'us-central1'
  return [
    `${region}-aiplatform.googleapis.com`,
    'aiplatform.googleapis.com',
    'oauth2.googleapis.com',
    'sts.googleapis.com',
  ]
}

export function claudeServices(env: Environment): readonly string[] {
  if (env.CLAUDE_CODE_USE_BEDROCK) return bedrock(env)
  if (env.CLAUDE_CODE_USE_VERTEX) return vertex(env)
  if (env.CLAUDE_CODE_USE_FOUNDRY)
    return [`${env.ANTHROPIC_FOUNDRY_RESOURCE ?? ''}.services.ai.azure.com`, 'login.microsoftonline.com']
  return env.ANTHROPIC_BASE_URL ? [] : anthropic
}

export const codexServices = (): readonly string[] => openai

export const geminiServices = (env: Environment): readonly string[] =>
  env.GOOGLE_GENAI_USE_VERTEXAI ? [...gemini, ...vertex(env)] : env.GOOGLE_GEMINI_BASE_URL ? [] : gemini

/** Of a backend that can use many providers: those whose key is in the environment, whose login exists, or whose model is asked for. */
export function providerServices(env: Environment, logins: string, model: string | null): readonly string[] {
  const [chosen = ''] = (model ?? '').split('/')
  const isUsed = ([id, prefix]: Provider) =>
    id === chosen ||
    logins.includes(`"${id}"`) ||
    Object.keys(env).some(name => name.startsWith(prefix) && /_(?:KEY|TOKEN|PROFILE|CREDENTIALS|BEDROCK)/.test(name))
  return providers.filter(isUsed).flatMap(([, , hosts]) => (typeof hosts === 'function' ? hosts(env) : hosts))
}

type Provider = readonly [
  id: string,
  prefix: string,
  hosts: readonly string[] | ((env: Environment) => readonly string[]),
]

const providers: readonly Provider[] = [
  ['anthropic', 'ANTHROPIC_', anthropic],
  ['openai', 'OPENAI_', openai],
  ['openai-codex', 'OPENAI_', openai],
  ['google', 'GEMINI_', gemini],
  ['google-generative', 'GOOGLE_GENERATIVE', gemini],
  ['google-vertex', 'GOOGLE_', vertex],
  ['amazon-bedrock', 'AWS_', bedrock],
  ['azure', 'AZURE_', ({ AZURE_RESOURCE_NAME: name }) => (name ? [`${name}.openai.azure.com`] : [])],
  ['openrouter', 'OPENROUTER_', ['openrouter.ai']],
  ['opencode', 'OPENCODE_', ['opencode.ai']],
  ['groq', 'GROQ_', ['api.groq.com']],
  ['mistral', 'MISTRAL_', ['api.mistral.ai']],
  ['deepseek', 'DEEPSEEK_', ['api.deepseek.com']],
  ['xai', 'XAI_', ['api.x.ai']],
  ['cerebras', 'CEREBRAS_', ['api.cerebras.ai']],
  ['together', 'TOGETHER_', ['api.together.ai', 'api.together.xyz']],
  ['fireworks', 'FIREWORKS_', ['api.fireworks.ai']],
  ['moonshot', 'MOONSHOT_', ['api.moonshot.ai', 'api.moonshot.cn']],
  ['kimi', 'KIMI_', ['api.kimi.com']],
  ['zhipu', 'ZHIPU_', ['open.bigmodel.cn']],
  ['zai', 'ZAI_', ['api.z.ai', 'open.bigmodel.cn']],
  ['huggingface', 'HF_', ['router.huggingface.co']],
  ['vercel', 'AI_GATEWAY_', ['ai-gateway.vercel.sh']],
  ['nvidia', 'NVIDIA_', ['integrate.api.nvidia.com']],
  ['baseten', 'BASETEN_', ['inference.baseten.co']],
  ['minimax', 'MINIMAX_', ['api.minimax.io', 'api.minimaxi.com']],
  ['meta', 'META_', ['api.meta.ai']],
  ['cloudflare', 'CLOUDFLARE_', ['api.cloudflare.com', 'gateway.ai.cloudflare.com']],
  ['github-copilot', 'COPILOT_', ['api.github.com', 'api.githubcopilot.com', 'api.individual.githubcopilot.com']],
]
