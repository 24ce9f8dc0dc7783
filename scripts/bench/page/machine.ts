// Describes the machine, the commit and the versions that a benchmark ran with.
import { execFileSync } from 'node:child_process'
import { cpus, loadavg, release, totalmem, type } from 'node:os'
import { Redis } from 'ioredis'
import { sql } from 'kysely'
import type { BenchService } from '../support/bench-service.ts'

export type Circumstances = {
  commit: string
  date: string
  machine: string
  versions: string
  loadBefore: string
}

/** Call it before the measurements: the load average is that of the minutes before. */
export function describeMachine(): Pick<
  Circumstances,
  'machine' | 'commit' | 'date' | 'loadBefore'
> {
  const git = (...words: string[]) => execFileSync('git', words, { encoding: 'utf8' }).trim()
  const isChanged = git('status', '--porcelain', '--untracked-files=no') !== ''
  const [first] = cpus()
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return {
    commit: git('rev-parse', '--short=10', 'HEAD') + (isChanged ? ', with changes' : ''),
    date: new Date().toISOString().slice(0, 10),
    machine: `${cpus().length} × ${first?.model.trim()}, ${memoryGb} GB, ${type()} ${release()}`,
    loadBefore: loadavg()[0]?.toFixed(1) ?? '',
  }
}

export async function describeVersions({ db, engine, redisUrl }: BenchService): Promise<string> {
  const { rows } = await sql<{ version: string }>`
    select current_setting('server_version') as version`.execute(db)
  const { pkgVersion } = await engine.getVersion()
  const redis = new Redis(redisUrl)
  const redisVersion = /redis_version:(\S+)/.exec(await redis.info('server'))?.[1]
  redis.disconnect()
  return (
    `Node ${process.versions.node}, PostgreSQL ${rows[0]?.version}, Meilisearch ${pkgVersion}, ` +
    `Redis ${redisVersion}`
  )
}
