// Runs the command scripts/import.ts, in this process or as a process of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runImportCommand } from '../../scripts/cli/import-command.ts'
import { runInProcess } from '../support/run-in-process.ts'

const script = join(import.meta.dirname, '../../scripts/import.ts')

type Exited = { status: number | null; stdout: string; stderr: string }

/** Starts the script with the database of an importer at `url`. */
export function startScript(
  args: string[],
  url: string,
): { child: ChildProcess & { stdin: Writable }; exited: Promise<Exited> } {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, IMPORTER_DATABASE_URL: url },
    stdio: 'pipe',
  })
  const exitStatus = new Promise<number | null>((resolve) => child.once('close', resolve))
  const exited = Promise.all([exitStatus, text(child.stdout), text(child.stderr)]).then(
    ([status, stdout, stderr]) => ({ status, stdout, stderr }),
  )
  return { child, exited }
}

/** Runs the command in this process. */
export const runScript = (args: string[], url: string, input: string | Buffer = '') =>
  runInProcess(runImportCommand, args, {
    env: { IMPORTER_DATABASE_URL: url },
    input,
    signal: new AbortController().signal,
  })
