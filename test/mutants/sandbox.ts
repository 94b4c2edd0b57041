// A sandbox for mutants, which may kill any process and delete any file. Processes outside cannot be
// seen, and nothing outside /tmp can be written.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'

const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user']
const namespaces = [...asRoot, '--mount', '--pid', '--fork', '--kill-child', '--mount-proc']

/** Why there can be no sandbox; null: there can. */
export function sandboxTrouble(): string | null {
  if (process.platform !== 'linux') return 'mutants run in namespaces, which only Linux has'
  const { status, stderr, error } = spawnSync('unshare', [...namespaces, 'sh', '-c', 'mount -t tmpfs none /tmp'], {
    encoding: 'utf8',
  })
  return status === 0 ? null : `unshare does not work here: ${error?.message ?? stderr.trim()}`
}

/** Runs a module of this folder with a message channel. Ending it ends everything it has started. */
export function runInSandbox(root: string, module: string): ChildProcess {
  const caches = ['.vite', '.vitest-cache', '.cache'].map(name => join(root, 'node_modules', name))
  const setUp = [
    'mount --make-rprivate /',
    'mount -t tmpfs none /tmp',
    `for dir in ${caches.map(quoted).join(' ')}; do mkdir -p "$dir" && mount -t tmpfs none "$dir"; done`,
    'mount -o remount,bind,ro /',
    `exec ${quoted(process.execPath)} --disable-warning=ExperimentalWarning ${quoted(join(import.meta.dirname, module))}`,
  ]
  return spawn('unshare', [...namespaces, 'sh', '-c', setUp.join(' && ')], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, TMPDIR: '/tmp' },
  })
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
