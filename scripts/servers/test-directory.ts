// Makes and deletes the directory of a test run, and deletes those of runs that were killed.
import { globSync, readFileSync, statfsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitForServersBelow } from './previous-run.ts'

const prefix = 'tqs-tests-'
const inMemory = '/dev/shm'

/**
 * Returns the path of a new directory, whose name contains the pid of this process. Deletes the
 * directories of processes that have ended.
 */
export async function makeTestDirectory(): Promise<string> {
  for (const parent of new Set([inMemory, tmpdir()]))
    for (const name of globSync(`${prefix}*`, { cwd: parent }))
      if (hasEnded(Number(name.slice(prefix.length).split('-')[0])))
        await removeTestDirectory(join(parent, name)).catch(({ message }: Error) =>
          console.error(`A killed test run has left ${join(parent, name)}: ${message}`),
        )
  return mkdtemp(join(chooseParent(), `${prefix}${process.pid}-`))
}

/** Deletes the directory, after the servers that a killed test had started there have ended. */
export async function removeTestDirectory(directory: string): Promise<void> {
  await waitForServersBelow(directory)
  // A browser or `initdb` of a killed test may still write its last files.
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
}

function hasEnded(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH'
  }
}

/** A directory in memory if Linux offers enough of it, because the servers write a lot. */
function chooseParent(): string {
  const enoughBytes = 4 * 2 ** 30
  try {
    const mount = readFileSync('/proc/mounts', 'utf8').match(/^\S+ \/dev\/shm \S+ (\S+)/m)?.[1]
    const { bavail, bsize } = statfsSync(inMemory)
    const mayExecute = mount !== undefined && !mount.split(',').includes('noexec')
    return mayExecute && bavail * bsize >= enoughBytes && freemem() >= enoughBytes
      ? inMemory
      : tmpdir()
  } catch {
    // Systems other than Linux have neither file.
    return tmpdir()
  }
}
