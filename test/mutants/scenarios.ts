// The whole program, for what unit and contract tests do not notice: a few scenarios for each folder.

const scenarios: Record<string, readonly string[]> = {
  lanes: ['conversation', 'turns', 'stopping'],
  store: ['conversation', 'file-guard', 'mission', 'persona'],
  run: ['conversation', 'backends', 'stopping', 'subagents'],
  intake: ['gate', 'admin-api', 'own-tools'],
  send: ['conversation', 'discord-sending', 'discord-answers'],
  clock: ['triggers', 'own-tools', 'regressions'],
  tools: ['own-tools', 'subagents'],
}

export const scenariosFor = (file: string): string[] =>
  (scenarios[file.split('/')[1] ?? ''] ?? []).map(name => `test/scenarios/${name}.test.ts`)
