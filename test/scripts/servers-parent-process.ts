// A test program: starts the three servers in the given directory, prints their URLs and pids,
// ignores Ctrl+C and waits to be killed. Ends with its test: when its standard input is closed.
import { join } from 'node:path'
import { startMeilisearch } from '../../scripts/servers/meilisearch.ts'
import { startPostgres } from '../../scripts/servers/postgres.ts'
import { startRedis } from '../../scripts/servers/redis.ts'

process.stdin.resume().on('end', () => process.exit())
const within = (folder: string) => join(process.argv[2] ?? '', folder)
process.on('SIGINT', () => console.log('interrupted'))
const servers = await Promise.all([
  startPostgres({ directory: within('postgres'), settings: { fsync: 'off' } }),
  startMeilisearch({ directory: within('meilisearch'), masterKey: 'a key for tests only' }),
  startRedis({ directory: within('redis') }),
])
console.log(JSON.stringify(servers.map((server) => ({ url: server?.url, pid: server?.pid }))))
