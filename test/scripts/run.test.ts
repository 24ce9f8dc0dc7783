// `scripts/run server` starts the API: its help, its exit statuses and how it lists bad settings.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** Runs the command of the docs. An empty setting counts as missing, also if .env has it. */
function run(words: string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync('scripts/run', words, {
    cwd: root,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, ...env },
  })
  return { status, stdout, stderr }
}

t.test('names its commands, and refuses others', async (t) => {
  const all = /api-key\|demo\|env\|import\|indexer\|migrate\|search\|server\|share\|stats/
  t.match(run([]), { status: 0, stderr: all })
  t.match(run(['serve']), { status: 2, stderr: all })
})

t.test('a command prints a defect with its stack, and any other error as one line', async (t) => {
  const fail = (error: string) => {
    const program = `import { runCommand } from './scripts/cli/command.ts'
      await runCommand('', {}, async () => { throw ${error} })`
    const args = ['--input-type=module', '--eval', program]
    return spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  }
  const defect = fail("new TypeError('x is undefined')")
  t.match(defect, { status: 1, stderr: /^TypeError: x is undefined\n +at .*\n/ })
  t.match(fail("new Error('the disk is full')"), { status: 1, stderr: /^the disk is full\n$/ })
  const cause = "new Error('connect ECONNREFUSED')"
  t.match(fail(`new TypeError('fetch failed', { cause: ${cause} })`), {
    status: 1,
    stderr: /^connect ECONNREFUSED\n$/,
  })
})

t.test('server --help says how it starts, stops and ends', async (t) => {
  const { status, stdout, stderr } = run(['server', '--help'])
  t.match({ status, stderr }, { status: 0, stderr: '' })
  for (const word of ['OPS_PORT', 'SIGTERM', 'Ctrl+C', 'status 0', 'status 1', 'status 2'])
    t.match(stdout, word)
})

t.test('server refuses what it does not know', async (t) => {
  t.match(run(['server', 'now']), { status: 2, stderr: 'Unexpected argument: now.\nSee --help.' })
  t.match(run(['server', '--port=1']), { status: 2, stderr: "Unknown option '--port'" })
})

t.test('server lists every bad setting and starts nothing', async (t) => {
  const env = { API_DATABASE_URL: '', DATABASE_URL: 'mysql://x', MEILI_URL: '', PORT: '99999' }
  const { status, stdout, stderr } = run(['server'], { ...env, TRUST_PROXY: 'nonsense' })
  t.match({ status, stdout }, { status: 1, stdout: '' })
  for (const name of ['DATABASE_URL', 'MEILI_URL', 'PORT', 'TRUST_PROXY'])
    t.match(stderr, new RegExp(`^ +${name} `, 'm'))
  t.notMatch(stderr, /^ +at /m, 'no stack')
})
