// The fake model for recording the CLIs, on a loopback port: its answer depends on the prompt.
import { openFront } from './front.ts'
import type { Cli } from './install.ts'
import { answer, beforeTool, type Case, used } from './recordings.ts'

export interface Model {
  readonly url: string
  /** How often it was called. */
  asked(): number
  close(): Promise<void>
}

interface Mock {
  readonly url: string
  on(match: object, response: object, options?: object): void
  getRequests(): readonly unknown[]
  start(): Promise<unknown>
  stop(): Promise<unknown>
}

/** The prompt of each case. */
export const prompts: Record<Case, string> = {
  forgotten: 'Who are you?',
  success: 'Remember the number 4711.',
  resume: 'Go on.',
  tool: 'Look into the notes with a tool.',
  'tool-failed': 'Look into what is not there with a tool.',
  401: 'This comes with a wrong key.',
  429: 'This is one too many.',
  500: 'This breaks the server.',
  lost: 'Where were we?',
  killed: 'Speak slowly.',
}

/** The tool call with which each CLI reads a file. */
const tools: Record<Cli, (file: string) => { name: string; arguments: string }> = {
  claude: file => ({ name: 'Read', arguments: JSON.stringify({ file_path: file }) }),
  codex: file => ({ name: 'exec_command', arguments: JSON.stringify({ cmd: `cat ${file}` }) }),
  gemini: file => ({ name: 'read_file', arguments: JSON.stringify({ file_path: file }) }),
  opencode: file => ({ name: 'read', arguments: JSON.stringify({ filePath: file }) }),
  pi: file => ({ name: 'read', arguments: JSON.stringify({ path: file }) }),
}

/** The same in the format of each service. */
const usage = {
  ...{ input_tokens: used.input, output_tokens: used.output },
  ...{ prompt_tokens: used.input, completion_tokens: used.output, total_tokens: used.input + used.output },
  ...{ promptTokenCount: used.input, candidatesTokenCount: used.output, totalTokenCount: used.input + used.output },
}

export async function openModel(path: string, cli: Cli): Promise<Model> {
  const { LLMock } = (await import(path)) as { LLMock: new (options: { port: number }) => Mock }
  const mock = new LLMock({ port: 0 })
  const asked = (name: Case) => ({ userMessage: new RegExp(prompts[name]) })
  const error = (status: number, type: string, message: string) => ({ error: { message, type }, status })
  mock.on(asked('401'), error(401, 'authentication_error', 'invalid api key'))
  mock.on(asked('429'), error(429, 'rate_limit_error', 'too many requests'))
  mock.on(asked('500'), error(500, 'api_error', 'internal server error'))
  // All words differ, because gemini mistakes repetition for a loop.
  const words = Array.from({ length: 60 }, (_, i) => `word-${i}`).join(' ')
  mock.on(asked('killed'), { content: words }, { latency: 200 })
  const reads = (name: Case, file: string) =>
    mock.on({ ...asked(name), hasToolResult: false }, { content: beforeTool, toolCalls: [tools[cli](file)], usage })
  reads('tool', 'notes.md')
  reads('tool-failed', 'nothing-here.md')
  mock.on({ userMessage: /.*/ }, { content: answer, usage })
  await mock.start()
  const front = await openFront(mock.url)
  return {
    url: front.url,
    asked: () => mock.getRequests().length,
    async close() {
      front.close()
      await mock.stop()
    },
  }
}
