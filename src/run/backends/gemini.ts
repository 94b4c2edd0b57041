// Gemini CLI: `gemini --output-format stream-json`.
import { type Dialect, type Reader, systemPromptIn } from '../cli.ts'
import { failure, statusIn } from '../diagnosis.ts'
import { number, object, string } from '../json.ts'
import { withoutReferences } from '../plain.ts'
import { readJsonLines } from '../reader.ts'

const approvals = { bypassPermissions: 'yolo', acceptEdits: 'auto_edit', plan: 'plan', default: 'default' } as const

export const gemini: Dialect = {
  name: 'gemini',
  takesSessionIds: true,
  install:
    'Install it with `npm install -g @google/gemini-cli` and log in once with `gemini`, or name its path in BACKEND_CLI_PATH.',
  credentials: {
    variables: ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_APPLICATION_CREDENTIALS'],
    files: ['.gemini/oauth_creds.json'],
  },
  files: () => ({}),
  environment: (_, dir) => ({
    GEMINI_SYSTEM_MD: systemPromptIn(dir),
    // In a folder it does not trust, gemini silently asks for every tool.
    GEMINI_CLI_TRUST_WORKSPACE: 'true',
    // Its launcher starts itself anew as a child and ignores SIGTERM.
    GEMINI_CLI_NO_RELAUNCH: 'true',
  }),
  ownVariables: ['GEMINI_*', 'GOOGLE_*'],
  arguments: turn => [
    ...['--output-format', 'stream-json', '--approval-mode', approvals[turn.permissionMode]],
    ...(turn.model ? ['-m', turn.model] : []),
    ...(turn.session ? [turn.session.resume ? '--resume' : '--session-id', turn.session.id] : []),
  ],
  input: turn => withoutReferences(turn.prompt),
  read: readStream,
  ignores: () => [],
  warm: null,
}

function readStream(): Reader {
  let answer = ''
  const labels = new Map<string, string>()

  return readJsonLines(line => {
    switch (line.type) {
      case 'init':
        return [{ type: 'started', session: string(line.session_id) || null }]
      case 'message': {
        if (line.role !== 'assistant') return []
        const delta = string(line.content)
        answer += delta
        return [{ type: 'text', delta }]
      }
      case 'tool_use': {
        const label = string(line.tool_name) || 'tool'
        labels.set(string(line.tool_id), label)
        return [{ type: 'action', id: string(line.tool_id), label, phase: 'started' }]
      }
      case 'tool_result': {
        const id = string(line.tool_id)
        // What it said before a tool belongs to the way, not to the answer.
        answer = ''
        return [
          {
            type: 'action',
            id,
            label: labels.get(id) ?? 'tool',
            phase: line.status === 'error' ? 'failed' : 'ended',
          },
        ]
      }
      case 'result': {
        const stats = object(line.stats)
        const usage = {
          inputTokens: number(stats.input_tokens),
          outputTokens: number(stats.output_tokens),
          costUsd: null,
        }
        const said = string(object(line.error).message) || 'the turn failed'
        return [
          { type: 'usage', usage, of: 'turn', model: null },
          line.status === 'error' ? failure(said, statusIn(said)) : { type: 'ended', ok: true, text: answer },
        ]
      }
      default:
        return []
    }
  })
}
