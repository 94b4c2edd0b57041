// The shape of the program, checked: a star with base/ in the middle and app/ as the only one that knows everyone.
const parts = 'config|chat|clock|hooks|tools|intake|lanes|prompt|run|send|store|ui'

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'siblings-are-strangers',
      comment: 'A folder imports itself and base/. What it needs from a sibling it is handed by app/.',
      severity: 'error',
      from: { path: `^src/(${parts})/` },
      to: { path: '^src/', pathNot: ['^src/$1/', '^src/base/'] },
    },
    {
      name: 'base-knows-no-one',
      comment: 'base/ holds words and pure functions: no folder, no Node module, no package.',
      severity: 'error',
      from: { path: '^src/base/', pathNot: '\\.test\\.ts$' },
      to: { pathNot: '^src/base/' },
    },
    {
      name: 'parts-by-their-front-door',
      comment: 'app/ and main.ts import a part by its index.ts only.',
      severity: 'error',
      from: { path: '^src/(app/|main\\.ts)', pathNot: '\\.test\\.ts$' },
      to: { path: `^src/(${parts})/`, pathNot: `^src/(${parts})/index\\.ts$` },
    },
    {
      name: 'nobody-imports-app',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(app/|main\\.ts)', '\\.test\\.ts$'] },
      to: { path: '^src/(app/|main\\.ts)' },
    },
    {
      name: 'only-run-and-app-start-processes',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(run|app)/', '\\.test\\.ts$'] },
      to: { path: '^(node:)?(child_process|cluster)$' },
    },
    {
      name: 'the-database-driver-stays-in-store',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/store/' },
      to: { path: '^(node:)?sqlite$' },
    },
    {
      name: 'sockets-stay-in-http',
      comment:
        'The ws package belongs to the HTTP server and to the Socket Mode of Slack; WebChat sees base/socket.ts.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/ui/http/', '^src/chat/slack/socket\\.ts$', '\\.test\\.ts$'] },
      to: { path: 'node_modules/ws/' },
    },
    {
      name: 'discord-stays-in-its-adapter',
      comment: 'Its libraries are large; they are loaded when Discord is on, and nobody else may pull them in.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/chat/discord/' },
      to: { path: 'node_modules/@discordjs/' },
    },
    {
      name: 'telegram-stays-in-its-adapter',
      comment: 'Its library is loaded when Telegram is on, and nobody else may pull it in.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/chat/telegram/' },
      to: { path: 'node_modules/(grammy|@grammyjs)/' },
    },
    {
      name: 'no-drawers',
      comment: 'A name says what it is.',
      severity: 'error',
      from: {},
      to: { path: '^src/.*(utils?|helpers?|common|shared|misc)(/|\\.ts$)' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-development-packages-in-the-product',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.test\\.ts$' },
      to: { dependencyTypes: ['npm-dev'] },
    },
    { name: 'nothing-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
}
