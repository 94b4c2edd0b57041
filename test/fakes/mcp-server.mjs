#!/usr/bin/env node
// A tiny MCP server on stdio with one tool, `ping`. Each call appends a line with its secret to the file named by PING_LOG.
import { appendFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
const ping = { name: 'ping', description: 'Answers.', inputSchema: { type: 'object', properties: {} } }

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    answer(id, {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1.0.0' },
    })
  else if (method === 'tools/list') answer(id, { tools: [ping] })
  else if (method === 'tools/call') {
    appendFileSync(process.env.PING_LOG, `${params.name} ${process.env.PING_SECRET}\n`)
    answer(id, { content: [{ type: 'text', text: 'pong' }] })
  } else if (id !== undefined) answer(id, {})
}
