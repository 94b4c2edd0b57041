// A turn for tests. Each test overrides only the fields that matter to it.
import { defaultMaxTurns, type Turn } from '../base/agent.ts'

export const turnWith =
  (usual: Partial<Turn>) =>
  (given: Partial<Turn> = {}): Turn => ({
    prompt: 'hello',
    systemPrompt: 'You are a test.',
    session: null,
    model: null,
    maxTurns: defaultMaxTurns,
    allowedTools: ['Read', 'Write'],
    askTools: [],
    permissionMode: 'bypassPermissions',
    mcpServers: [],
    workingDir: '/space',
    ...usual,
    ...given,
  })
