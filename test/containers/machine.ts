// A machine like the forge's, in a container: services of a job and the commands of its steps.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineImage } from './base-images.ts'
import { run } from './run-program.ts'
import type { Service, Step } from './workflow-steps.ts'

/** The containers of one job have this label, by which the container test removes them. */
export const machineLabel = 'container-test=machine'
/** Its exit status is that of the services, which does not matter here. */
const readState = 'systemctl is-system-running || true'
const account = 1001
const folders = { code: '/home/runner/work/service/service', scripts: '/home/runner/work/_temp' }
/** As the forge starts them, of which the first is the default. */
const shells: Record<string, string[]> = {
  default: ['bash', '-e'],
  bash: ['bash', '--noprofile', '--norc', '-eo', 'pipefail'],
}

export type Machine = {
  /** Returns `running` once systemd has started everything, or `degraded` if something failed. */
  readState(): Promise<string>
  /** Executes the command of a step. Returns what it printed. Throws if it fails. */
  execute(step: Step, env: Record<string, string>): Promise<string>
}

const asOptions = (name: string, values: Record<string, string>) =>
  Object.entries(values).flatMap(([key, value]) => [name, `${key}=${value}`])

/** Starts a service container with the image, settings, ports and options of the workflow. */
export async function startService(name: string, service: Service, cwd: string): Promise<void> {
  const { image, env = {}, ports = [], options = '' } = service
  const args = [
    ...['--name', name, '--label', machineLabel],
    ...asOptions('--env', env),
    ...ports.flatMap((port) => ['--publish', port]),
  ]
  // The shell splits the options at spaces, except between quotation marks, as the forge does.
  const command = `exec docker run --detach --pull never ${options} "$@"`
  await run('bash', ['-c', command, 'bash', ...args, image], { cwd })
}

/** Removes the machine of a job and its services. */
export async function removeMachine(cwd: string): Promise<void> {
  const filter = `--filter=label=${machineLabel}`
  const list = await run('docker', ['ps', '--all', '--quiet', filter], { cwd })
  const ids = list.split('\n').filter(Boolean)
  if (ids.length > 0) await run('docker', ['rm', '--force', '--volumes', ...ids], { cwd })
}

/** Returns `healthy`, or what else Docker says about the health check of a container. */
export async function readHealth(name: string, cwd: string): Promise<string> {
  const format = '--format={{if .State.Health}}{{.State.Health.Status}}{{else}}no check{{end}}'
  return (await run('docker', ['inspect', format, name], { cwd })).trim()
}

/**
 * Starts a machine with systemd, and a shallow clone of this commit in it. `directory` takes files,
 * and exists in the engine under the same name.
 */
export async function startMachine(
  origin: string,
  commit: string,
  directory: string,
): Promise<Machine> {
  const [code, scripts] = [join(directory, 'code'), join(directory, 'scripts')]
  mkdirSync(scripts, { recursive: true })
  const git = (...args: string[]) => run('git', ['-C', code, ...args])
  await run('git', ['init', '--quiet', code])
  await git('fetch', '--quiet', '--depth=1', `file://${origin}`, commit)
  await git('checkout', '--quiet', 'FETCH_HEAD')
  await run('chown', ['--recursive', `${account}:${account}`, directory])
  const name = 'machine'
  const mounts = [`${code}:${folders.code}`, `${scripts}:${folders.scripts}`]
  await run(
    'docker',
    [
      ...['run', '--detach', '--name', name, '--label', machineLabel],
      // The forge's machine is a virtual one, whose ports are those of the services.
      ...['--privileged', '--network', 'host', '--shm-size', '8g'],
      ...['--hostname', 'runner', '--add-host', 'runner:127.0.0.1'],
      ...['--tmpfs', '/run', '--tmpfs', '/run/lock'],
      ...mounts.flatMap((mount) => ['--volume', mount]),
      machineImage,
    ],
    { cwd: directory },
  )
  let count = 0
  return {
    readState: () => run('docker', ['exec', name, 'sh', '-c', readState], { cwd: directory }),
    execute(step, env) {
      count += 1
      const script = `${count}.sh`
      writeFileSync(join(scripts, script), step.run ?? '')
      const shell = shells[step.shell ?? 'default']
      if (shell === undefined) throw new Error(`The forge's shell ${step.shell} is unknown here.`)
      const settings = { CI: 'true', GITHUB_ACTIONS: 'true', ...env, ...step.env }
      const options = ['--user', 'runner', '--workdir', folders.code]
      const command = [...shell, join(folders.scripts, script)]
      return run(
        'docker',
        ['exec', ...options, ...asOptions('--env', settings), name, ...command],
        { cwd: directory },
      )
    },
  }
}
