// A fake Claude Agent SDK: the part of query() that is used here. It starts claude with the same flags as the real one,
// passes on its output, and throws if it failed.

export function query({ prompt, options }) {
  const { command, args } = commandLine(options)
  const child = options.spawnClaudeCodeProcess({
    command,
    args,
    cwd: options.cwd,
    env: { ...options.env, CLAUDE_CODE_ENTRYPOINT: 'sdk-ts' },
    signal: new AbortController().signal,
  })
  // Like the real one: an exit without a code or a signal does not count.
  const exit = new Promise(resolve =>
    child.on('exit', (code, signal) => (code === null && signal === null ? null : resolve({ code, signal }))),
  )
  const answers = new Map()
  // The fake claude takes U+2028 for the end of a line.
  const send = line => child.stdin.write(`${JSON.stringify(line).replaceAll('\u2028', '\\u2028')}\n`)
  const control = request => {
    const request_id = Math.random().toString(36).slice(2)
    send({ request_id, type: 'control_request', request })
    return new Promise((resolve, reject) => {
      answers.set(request_id, resolve)
      exit.then(() => reject(new Error('Query closed before response received')))
    })
  }

  const { append, snapshot } = options.systemPrompt
  control({ subtype: 'initialize', appendSystemPrompt: append, systemPromptSnapshot: snapshot }).catch(() => {})
  void (async () => {
    for await (const message of prompt) send(message)
    child.stdin.end()
  })()

  // Like the real one: claude's requests go to the caller's function, and what it resolves with goes back.
  const asked = new Map()
  const ask = async ({ request_id, request: { tool_name, input, tool_use_id } }) => {
    const stop = new AbortController()
    asked.set(request_id, stop)
    const context = { signal: stop.signal, toolUseID: tool_use_id, requestId: request_id }
    const response = await options.canUseTool(tool_name, input, context)
    if (asked.delete(request_id))
      send({ type: 'control_response', response: { subtype: 'success', request_id, response } })
  }
  const cancel = ({ request_id }) => {
    const stop = asked.get(request_id)
    asked.delete(request_id)
    stop?.abort()
  }

  async function* messages() {
    let last = null
    for await (const text of linesOf(child.stdout)) {
      const line = JSON.parse(text)
      if (line.type === 'control_request') void ask(line)
      else if (line.type === 'control_cancel_request') cancel(line)
      else if (line.type === 'control_response') answers.get(line.response.request_id)?.(line.response.response)
      else {
        if (line.type === 'result') last = line
        yield line
      }
    }
    const { code, signal } = await exit
    if (last?.is_error && code !== 0) throw new Error(`Claude Code returned an error result: ${last.result}`)
    if (signal) throw new Error(`Claude Code process terminated by signal ${signal}`)
    if (code !== 0) throw new Error(`Claude Code process exited with code ${code}`)
  }
  return Object.assign(messages(), { interrupt: () => control({ subtype: 'interrupt' }) })
}

async function* linesOf(stream) {
  let rest = ''
  for await (const chunk of stream.setEncoding('utf8')) {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop()
    yield* lines
  }
}

/** The real one runs a script with node, and a binary directly. */
function commandLine(options) {
  const flags = {
    'max-turns': options.maxTurns,
    model: options.model,
    resume: options.resume,
    allowedTools: options.allowedTools.join(','),
    tools: options.tools.join(','),
    'permission-mode': options.permissionMode,
    'session-id': options.sessionId,
  }
  const set = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`]))
  const args = [
    ...['--output-format', 'stream-json', '--verbose', '--input-format', 'stream-json', ...set],
    ...(options.canUseTool ? ['--permission-prompt-tool', 'stdio'] : []),
    ...(options.allowDangerouslySkipPermissions ? ['--allow-dangerously-skip-permissions'] : []),
    ...(options.includePartialMessages ? ['--include-partial-messages'] : []),
    ...Object.entries(options.extraArgs ?? {}).flatMap(([name, value]) =>
      value === null ? [`--${name}`] : [`--${name}`, value],
    ),
  ]
  const program = options.pathToClaudeCodeExecutable
  return /\.(mjs|js)$/.test(program) ? { command: 'node', args: [program, ...args] } : { command: program, args }
}
