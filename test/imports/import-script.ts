// Runs scripts/import.ts as a process of its own.
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'

const script = join(import.meta.dirname, '../../scripts/import.ts')

type ExitedProcess = { status: number | null; stdout: string; stderr: string }

/** Starts the script with the database of an importer at `url`. */
export function startScript(
  args: string[],
  url: string,
): { child: ChildProcess & { stdin: Writable }; exited: Promise<ExitedProcess> } {
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

/** Waits until the script has ended. `input` is its standard input. */
export async function runScript(args: string[], url: string, input = ''): Promise<ExitedProcess> {
  const { child, exited } = startScript(args, url)
  child.stdin.end(input)
  return exited
}
