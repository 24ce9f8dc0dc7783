// An older release of this project, from its history, that can run beside this one.
import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

/**
 * Writes the last commit before this migration into `directory`, and returns the commit. Throws if
 * the history lacks it, as in a shallow clone.
 */
export function checkOutBefore(migration: string, directory: string): string {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: root, encoding: 'utf8' })
  const file = `src/database/migrations/${migration}.*`
  // The first commit, because the file may have been replaced by one with another extension.
  const added = git('log', '--diff-filter=A', '--format=%H', '--', file).trim().split('\n').at(-1)
  if (!added) throw new Error(`The history lacks ${file}: run \`git fetch --unshallow\`.`)
  const commit = git('rev-parse', `${added}~1`).trim()
  const archive = join(directory, 'older.tar')
  git('archive', '--output', archive, commit)
  execFileSync('tar', ['--extract', '--file', archive, '--directory', directory])
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  return commit
}
