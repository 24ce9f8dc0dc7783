// `scripts/schema.ts` leaves neither a database nor a directory behind when it is stopped.
import { readdirSync } from 'node:fs'
import t from 'tap'
import { openPool } from '../../src/database/postgres-pool.ts'
import { emptyDatabase } from '../support/database/test-database.ts'
import { eventually } from '../support/eventually.ts'
import { startProgram } from '../support/run-program.ts'
import { createTemporaryDirectory } from '../support/temporary-directory.ts'

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  t.test(`${signal} removes the database on the server of DATABASE_URL`, async (t) => {
    const url = await emptyDatabase(t)
    const pool = openPool(url, { connections: 1 })
    t.teardown(() => pool.end())
    const databases = async () => {
      const { rows } = await pool.query<{ datname: string }>(
        "select datname from pg_database where datname like 'schema\\_%'",
      )
      return rows.map(({ datname }) => datname)
    }
    const program = startProgram(t, ['scripts/schema.ts', '--check'], { DATABASE_URL: url })
    const hasEnded = () => program.child.exitCode !== null
    const created = await eventually(databases, ({ length }) => length > 0 || hasEnded())
    t.equal(created.length, 1)
    program.child.kill(signal)
    await program.exit
    t.match(program.output(), `Stopped by ${signal}`)
    t.same(await databases(), [])
  })

  t.test(`${signal} removes the directory of the server that it has started`, async (t) => {
    const directory = createTemporaryDirectory(t, 'schema')
    const program = startProgram(t, ['scripts/schema.ts', '--check'], { TMPDIR: directory })
    const files = async () => readdirSync(directory).filter((name) => name.startsWith('schema-'))
    t.equal((await eventually(files, ({ length }) => length > 0)).length, 1)
    program.child.kill(signal)
    await program.exit
    t.match(program.output(), `Stopped by ${signal}`)
    t.same(await files(), [])
  })
}
