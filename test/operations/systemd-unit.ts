// Reads a unit of deploy/systemd and starts its command as systemd does, without systemd.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import type { Test } from 'tap'
import { spawnChild } from '../../scripts/servers/child-lifetime.ts'

const folder = join(import.meta.dirname, '../../deploy/systemd')

/** Changes of paths and ports that differ on this machine, from and to. */
type Changes = [string, string][]

/** Returns the text of a unit with these changes. Throws if it lacks one of them. */
export function readUnit(file: string, changes: Changes): string {
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`${file} lacks ${from}`)
      return text.replaceAll(from, to)
    },
    readFileSync(join(folder, file), 'utf8'),
  )
}

/** Returns the values of a setting of a unit, in their order. */
function readValues(unit: string, setting: string): string[] {
  const lines = unit.replaceAll(/ *\\\n */g, ' ').split('\n')
  return lines.flatMap((line) =>
    line.startsWith(`${setting}=`) ? [line.slice(setting.length + 1)] : [],
  )
}

/**
 * Starts ExecStart of a unit in its directory, with the variables of its EnvironmentFile and
 * Environment but without those of UnsetEnvironment. It is killed when the test ends, also if the
 * test itself is killed.
 */
export function startUnit(t: Test, unit: string, instance = '') {
  const text = unit.replaceAll('%i', instance)
  const env: NodeJS.Dict<string> = { PATH: '/usr/local/bin:/usr/bin:/bin' }
  for (const line of readValues(text, 'Environment')) Object.assign(env, parseEnv(line))
  for (const file of readValues(text, 'EnvironmentFile'))
    Object.assign(env, parseEnv(readFileSync(file, 'utf8')))
  for (const names of readValues(text, 'UnsetEnvironment'))
    for (const name of names.split(' ')) delete env[name]
  const cwd = readValues(text, 'WorkingDirectory')[0] ?? '/'
  return startCommand(t, readValues(text, 'ExecStart')[0] ?? '', env, cwd)
}

/** Starts a command as it stands. It is killed when the test ends, also if the test is killed. */
export function startCommand(t: Test, command: string, env: NodeJS.Dict<string>, cwd: string) {
  const [program = '', ...words] = command.split(' ')
  const child = spawnChild(program, words, { cwd, env, stopSignal: 'SIGKILL', output: 'pipe' })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk
    })
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', resolve)
    child.once('error', (error) => {
      output += error.message
      resolve(null)
    })
  })
  t.teardown(async () => {
    child.kill('SIGKILL')
    await exit
  })
  return { child, exit, output: () => output }
}
