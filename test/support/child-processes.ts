// Finds the child processes of a program that a test runs.
import { readFile } from 'node:fs/promises'

/** Returns the pid of the child whose command line names the script. */
export async function findChild(parent: number, script: string): Promise<number | undefined> {
  for (const child of await childrenOf(parent)) {
    // A child may have ended meanwhile.
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(script)) return child
  }
  return undefined
}

/** Returns the pids of what the main thread of a process has started. Throws if it has ended. */
export async function childrenOf(pid: number): Promise<number[]> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').filter(Boolean).map(Number)
}
