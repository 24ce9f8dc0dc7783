// Starts a server as a child process and stops it again: what PostgreSQL, Meilisearch and Redis have in common.
import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { spawnChild } from './child-lifetime.ts'
import { choosePort, PortInUse } from './free-port.ts'
import { recordRun, stopPreviousRun } from './previous-run.ts'
import type { ReportProgress, RunningServer } from './running-server.ts'
import { type Place, preparePlace } from './server-account.ts'
import { explainFullDisk, startupError } from './startup-errors.ts'

export type Command = {
  command: string
  args: (port: number) => string[]
  env?: NodeJS.ProcessEnv
  url: (port: number) => string
  /** Asks the server something real: true when it answers, false when not yet; throws when waiting is of no use. */
  answers: (url: string) => Promise<boolean>
}

type Plan = {
  name: string
  directory: string
  /** undefined: any free one. */
  port: number | undefined
  reportProgress: ReportProgress
  stopSignal: 'SIGINT' | 'SIGTERM'
  /** Makes ready what the server needs at its place. `earlierPid`: that of the last server there, which is gone by now. */
  prepare: (place: Place, earlierPid: number | undefined) => Promise<Command>
}

/** Starts a server and waits (60 s at most) until it answers. Throws with the end of its log, or with what to do about it, when it does not. */
export async function startServer(plan: Plan): Promise<RunningServer> {
  const { name, reportProgress } = plan
  let { directory } = plan
  try {
    const place = preparePlace(directory, name, reportProgress)
    directory = place.directory
    const earlierPid = await stopPreviousRun(directory, name, reportProgress)
    await choosePort(name, plan.port) // a taken port should be known before the long work
    const command = await plan.prepare(place, earlierPid)
    for (let attempt = 1; ; attempt++) {
      try {
        return await launch(plan, place, command, await choosePort(name, plan.port))
      } catch (error) {
        // A free port may be gone again by the time the server wants it.
        if (!(error instanceof PortInUse && plan.port === undefined && attempt < 3)) throw error
      }
    }
  } catch (error) {
    throw explainFullDisk(error, name, directory)
  }
}

async function launch(
  plan: Plan,
  place: Place,
  server: Command,
  port: number,
): Promise<RunningServer> {
  const { name, stopSignal } = plan
  const { directory, account } = place
  const logFile = join(directory, 'server.log')
  const output = openSync(logFile, 'w', 0o600)
  const child = spawnChild(server.command, server.args(port), {
    cwd: directory,
    env: server.env ?? {},
    account,
    stopSignal,
    output,
  })
  closeSync(output)

  let isAsked = false
  const ended = howItEnds(child)
  const endedUnasked = (how: string) => startupError({ name, directory, port, how, logFile })
  const exited = new Promise<string>((resolve) => {
    ended.then(
      (how) => isAsked || resolve(endedUnasked(`(PID ${child.pid}) ended unasked: ${how}`).message),
    )
  })
  const stop = async () => {
    isAsked = true
    const force = setTimeout(() => child.kill('SIGKILL'), 10_000)
    child.kill(stopSignal)
    child.kill('SIGCONT') // a paused server would not hear the first signal
    await ended
    clearTimeout(force)
  }

  const url = server.url(port)
  const deadline = Date.now() + 60_000
  try {
    if (child.pid !== undefined) recordRun(directory, child.pid)
    while (!(await server.answers(url))) {
      if (isOver(child)) throw endedUnasked(`did not start: ${await ended}`)
      if (Date.now() > deadline) throw endedUnasked('did not answer within 60 s')
      await sleep(25)
    }
  } catch (error) {
    await stop()
    throw error
  }
  return { name, url, pid: child.pid ?? null, stop, exited }
}

const isOver = (child: ChildProcess) =>
  child.pid === undefined || child.exitCode !== null || child.signalCode !== null

function howItEnds(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (status, signal) =>
      resolve(signal === null ? `exit status ${status}` : `ended by ${signal}`),
    )
  })
}
