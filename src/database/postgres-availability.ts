// Whether PostgreSQL is there, and if not, whether it is worth waiting for.
import { type Kysely, sql } from 'kysely'

/** Wrong passwords and names of databases do not mend by waiting: classes 28 and 3D of its error codes. */
const lasting = /^(28|3D)/

/** Null when PostgreSQL answers, else why not. Throws where waiting is of no use. */
export async function whyUnreachable<DB>(db: Kysely<DB>): Promise<string | null> {
  try {
    await sql`select 1`.execute(db)
    return null
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (lasting.test(code)) throw error
    return error instanceof AggregateError
      ? error.errors.map(({ message }: Error) => message).join('; ')
      : (error as Error).message
  }
}
