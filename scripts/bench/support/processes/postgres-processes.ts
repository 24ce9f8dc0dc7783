// Reads how much processor time a PostgreSQL server has used, with all its processes.
import { readdirSync, readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Database } from '../../../../src/database/postgres-pool.ts'

const ticksPerSecond = 100

/** Returns the id of the process that all others of the server descend from. */
export async function readPostmasterPid(db: Database): Promise<number> {
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  return readStat(rows[0]?.pid ?? 0).parent
}

/** Returns the processor time of all processes of the server, also of those that have ended. */
export function readPostgresSeconds(postmaster: number): number {
  const own = readStat(postmaster)
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [readStat(Number(name))]
      } catch {
        // It has ended meanwhile.
        return []
      }
    })
    .filter(({ parent }) => parent === postmaster)
  const ticks = children.reduce((sum, { used }) => sum + used, own.used + own.usedByEnded)
  return ticks / ticksPerSecond
}

function readStat(pid: number): { parent: number; used: number; usedByEnded: number } {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const at = (index: number) => Number(fields[index])
  return { parent: at(1), used: at(11) + at(12), usedByEnded: at(13) + at(14) }
}
