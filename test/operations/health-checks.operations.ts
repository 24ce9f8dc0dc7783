// The health check of PostgreSQL in docker-compose.yml notices what is left if the first start was
// killed: a server without the database, or one that does not let its owner in.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { startDebianPostgres } from './debian-postgres.ts'

const root = join(import.meta.dirname, '../..')
const password = 'of-the-owner'
const postgres = await startDebianPostgres(t, { ownerPassword: password })

/** The check as Docker runs it, with another port. */
function check(): number | null {
  const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), {
    merge: true,
  })
  const [kind, command = ''] = services.postgres.healthcheck.test as string[]
  t.equal(kind, 'CMD-SHELL')
  return runProgram('sh', ['-c', command.replaceAll('$$', '$')])
}

function runProgram(program: string, words: string[]): number | null {
  const { PATH } = process.env
  const env = { POSTGRES_PASSWORD: password, PGPORT: String(postgres.port) }
  return spawnSync(program, words, {
    env: { ...env, PATH: `${postgres.programs}:${PATH}` },
    stdio: 'ignore',
  }).status
}

/** Runs SQL through the socket, where nobody needs a password. */
function runSql(statement: string): void {
  const words = ['-h', postgres.socket, '-U', 'quotes', '-d', 'postgres', '-qc', statement]
  if (runProgram('psql', words) !== 0) throw new Error(statement)
}

t.test('healthy with the database and its owner', async (t) => {
  t.equal(check(), 0)
})

t.test('unhealthy without the database, where pg_isready notices nothing', async (t) => {
  runSql('drop database quotes')
  t.not(check(), 0)
  const isReady = ['-h', '127.0.0.1', '-U', 'quotes', '-d', 'quotes']
  t.equal(runProgram('pg_isready', isReady), 0)
  runSql('create database quotes')
  t.equal(check(), 0)
})

t.test('unhealthy if the owner has another password', async (t) => {
  runSql("alter role quotes password 'another'")
  t.not(check(), 0)
})
