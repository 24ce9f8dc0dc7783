// Finds the program of PgBouncer, which the tests put in front of PostgreSQL.
import { delimiter } from 'node:path'
import type { Place } from '../data-directory/server-account.ts'
import {
  type FoundProgram,
  findProgram,
  runnableProgram,
  unpackDirectory,
} from './debian-program.ts'

const pgBouncer = {
  name: 'pgbouncer',
  title: 'PgBouncer',
  programNames: ['pgbouncer'],
  packagedProgram: 'usr/sbin/pgbouncer',
  advice: 'install pgbouncer',
}

/** Finds PgBouncer, or installs it. Throws an error that says what to do if that fails. */
export async function findPgBouncer(): Promise<FoundProgram> {
  const progress: string[] = []
  const found = await findProgram(pgBouncer, {
    reportProgress: (line) => progress.push(line),
    // Debian's package has it where only root looks for programs.
    path: [process.env.PATH, '/usr/sbin', '/usr/local/sbin'].join(delimiter),
    unpackTo: unpackDirectory(pgBouncer.name),
  })
  if (!found) throw new Error(`The tests need a real PgBouncer: ${progress.join('; ')}`)
  return found
}

/** Returns the command and environment that run PgBouncer for the account. */
export const runnablePgBouncer = (program: FoundProgram, place: Place) =>
  runnableProgram(program, pgBouncer, place)
