// `make mutations`: makes one deliberate fault after another in a copy of the code, runs the tests
// of its part, and expects one to fail. A fault that no test notices, or whose place is gone,
// makes the command exit with 1. Takes about half an hour.
import { spawnSync } from 'node:child_process'
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runCommand } from '../../scripts/cli/command.ts'
import { type Mutation, mutations } from './mutation-list.ts'

const root = join(import.meta.dirname, '../..')
const help = `
Usage: node test/endurance/mutations.ts [WORD …]

Makes each deliberate fault of mutation-list.ts in a copy of the code, and runs the tests of its
part. Exits with 1 if a fault is not noticed.

  WORD  only the faults whose file or description contains one of the words
`

await runCommand(help, {}, async (_, words) => {
  const chosen = mutations.filter(
    ({ file, fault }) =>
      words.length === 0 || words.some((word) => `${file} ${fault}`.includes(word)),
  )
  const copy = copyCode()
  try {
    const unnoticed = chosen.filter((mutation) => !isNoticed(copy, mutation))
    console.log(`${chosen.length - unnoticed.length} of ${chosen.length} faults were noticed.`)
    return unnoticed.length === 0 && chosen.length > 0 ? 0 : 1
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
})

/** Copies the files that git knows, and links the packages. Returns the directory. */
function copyCode(): string {
  const copy = mkdtempSync(join(tmpdir(), 'tqs-mutations-'))
  const { stdout } = spawnSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  for (const file of stdout.split('\0').filter((name) => name !== '')) {
    mkdirSync(join(copy, dirname(file)), { recursive: true })
    copyFileSync(join(root, file), join(copy, file))
  }
  for (const folder of ['node_modules', 'test/api-docs/client/node_modules'])
    symlinkSync(join(root, folder), join(copy, folder))
  return copy
}

/** Returns whether a test fails while the fault is in the copy. Prints the result. */
function isNoticed(copy: string, { file, from, to, fault, tests }: Mutation): boolean {
  const path = join(copy, file)
  const text = readFileSync(path, 'utf8')
  const places = text.split(from).length - 1
  if (places !== 1) {
    console.log(`GONE      ${file}: ${fault} (its code occurs ${places} times)`)
    return false
  }
  const files = tests.flatMap((test) =>
    test.endsWith('.ts') ? test : globSync(`${test}/**/*.test.ts`, { cwd: copy }).sort(),
  )
  writeFileSync(
    path,
    text.replace(from, () => to),
  )
  try {
    const { stdout, status } = spawnSync(process.execPath, ['scripts/test.ts', ...files], {
      cwd: copy,
      encoding: 'utf8',
      maxBuffer: 1e9,
    })
    const failed = /^not ok: (.*)$/m.exec(stdout)?.[1]
    const noticed = status === 1 && failed !== undefined
    console.log(
      `${noticed ? 'noticed  ' : 'UNNOTICED'} ${file}: ${fault} ${failed ? `[${failed}]` : ''}`,
    )
    return noticed
  } finally {
    writeFileSync(path, text)
  }
}
