// Brings the database to the schema of this code and records the company with it.
import { readCompany, recordCompany } from '../src/company.ts'
import { readMigrateConfig } from '../src/config.ts'
import { openDatabase } from '../src/connections.ts'
import { migrate } from '../src/database/migrate.ts'
import { runCommand } from './command.ts'

const help = `
Usage: node scripts/migrate.ts

Applies the pending migrations to DATABASE_URL and records the company of COMPANY_FILE (seller block, base currency, time zone).
Safe to run again, and from several processes at once. Nothing is changed when a migration fails.
`

await runCommand(help, {}, async () => {
  const config = readMigrateConfig()
  const company = readCompany(config.COMPANY_FILE)
  const db = openDatabase(config.DATABASE_URL, { connections: 2 })
  try {
    const applied = await migrate(db)
    await recordCompany(db, company)
    console.log(applied.length > 0 ? `Applied ${applied.join(', ')}.` : 'The schema is up to date.')
    return 0
  } finally {
    await db.destroy()
  }
})
