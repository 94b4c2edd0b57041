// A few scenarios per folder, for mutants that unit and contract tests do not notice.

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
