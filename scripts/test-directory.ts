// Makes and deletes the directory of a test run, and deletes those of runs that were killed.
import { once } from 'node:events'
import { globSync, readFileSync, statfsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitForServersBelow } from './servers/previous-run.ts'

const prefix = 'tqs-tests-'
const inMemory = '/dev/shm'
/** A socket that a run listens on. Once the run is dead, the kernel refuses connections. */
const socketName = 'run.socket'

/** Returns the path of a new directory. Deletes the directories of killed runs first. */
export async function makeTestDirectory(): Promise<string> {
  for (const parent of new Set([inMemory, tmpdir()]))
    for (const name of globSync(`${prefix}*`, { cwd: parent })) {
      const directory = join(parent, name)
      if (await isAbandoned(directory)) await removeTestDirectory(directory)
    }
  const directory = await mkdtemp(join(temporaryDirectory(), prefix))
  const socket = join(directory, socketName)
  await once(createServer().listen(`${socket}.new`).unref(), 'listening')
  // Renamed, so that no other run finds a socket that does not listen yet.
  await rename(`${socket}.new`, socket)
  return directory
}

/** Deletes the directory, after the servers that a killed test had started there have ended. */
export async function removeTestDirectory(directory: string): Promise<void> {
  await waitForServersBelow(directory)
  // A browser or `initdb` of a killed test may still write its last files.
  await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 })
}

/** A directory without a socket, or of another account, is none that this run may delete. */
async function isAbandoned(directory: string): Promise<boolean> {
  const socket = connect(join(directory, socketName))
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}

/** A directory in memory if Linux offers enough of it, because the servers write a lot. */
function temporaryDirectory(): string {
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
