// Settings of the database that migrate makes.
import { sql } from 'kysely'
import t from 'tap'
import { openDatabase } from '../../src/database/postgres-pool.ts'
import { switchOffJit } from '../../src/database/run-migrations.ts'
import { testDatabase } from '../support/database/test-database.ts'

t.test('just-in-time compilation is off for later connections', async (t) => {
  const { db, url, roles } = await testDatabase(t)
  const readJit = async (connection: string) => {
    const other = openDatabase(connection, { connections: 1 })
    const { rows } = await sql<{ jit: string }>`show jit`.execute(other)
    const notes = await switchOffJit(other)
    await other.destroy()
    return { jit: rows[0]?.jit, notes }
  }
  await sql`alter database ${sql.id(new URL(url).pathname.slice(1))} set jit = on`.execute(db)
  const asImporter = await readJit(roles.importer)
  t.equal(asImporter.jit, 'on')
  t.match(asImporter.notes, [
    /let the owner of the database run `alter database \w+ set jit = off`/,
  ])
  t.same(await readJit(url), { jit: 'on', notes: [] })
  t.same(await readJit(roles.api), { jit: 'off', notes: [] })
})

t.test('several programs may switch it off at the same time', async (t) => {
  const { db, url } = await testDatabase(t)
  const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(db)
  const switchedOn = sql`alter database ${sql.id(rows[0]?.name ?? '')} set jit = on`
  for (let attempt = 0; attempt < 5; attempt += 1) {
    await switchedOn.execute(db)
    // A connection reads the setting when it is opened.
    const others = Array.from({ length: 8 }, () => openDatabase(url, { connections: 1 }))
    await Promise.all(others.map((other) => sql`select`.execute(other)))
    await t.resolves(Promise.all(others.map(switchOffJit)))
    await Promise.all(others.map((other) => other.destroy()))
  }
})
