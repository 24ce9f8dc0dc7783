// Starts the API as in production, in a process.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { choosePort } from '../../../servers/free-port.ts'
import type { BenchService } from '../bench-service.ts'
import { startBenchProcess } from './bench-process.ts'

/** The servers and settings that the process needs. */
type ApiSettings = Pick<
  BenchService,
  'databaseUrl' | 'redisUrl' | 'meiliUrl' | 'meiliKey' | 'indexName' | 'directory' | 'company'
>

export type ApiProcess = { url: string; operationsUrl: string; pid: number; stop(): Promise<void> }

const ownCheckout = join(import.meta.dirname, '../../../..')

/**
 * Starts the API on the servers of `service`, with `env` added. Resolves a second after it answers.
 * `checkout` is the directory of the code: this one, or another checkout to compare with.
 */
export async function startApi(
  service: ApiSettings,
  env: Record<string, string>,
  checkout = ownCheckout,
): Promise<ApiProcess> {
  const [port, operationsPort] = [await choosePort('the API'), await choosePort('health')]
  const companyFile = join(service.directory, 'company.json')
  await writeFile(companyFile, service.company)
  const server = startBenchProcess([join(checkout, 'src/server.ts')], {
    DATABASE_URL: service.databaseUrl,
    REDIS_URL: service.redisUrl,
    MEILI_URL: service.meiliUrl,
    MEILI_SEARCH_KEY: service.meiliKey,
    SEARCH_INDEX: service.indexName,
    COMPANY_FILE: companyFile,
    PORT: String(port),
    OPS_PORT: String(operationsPort),
    LOG_LEVEL: 'warn',
    ...env,
  })
  const url = `http://127.0.0.1:${port}`
  for (let attempt = 0; ; attempt++) {
    if (await fetch(`${url}/api/search`).catch(() => null)) break
    if (attempt > 200 || server.hasEnded()) throw new Error('The API did not start.')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  return {
    url,
    operationsUrl: `http://127.0.0.1:${operationsPort}`,
    pid: server.pid,
    stop: server.stop,
  }
}
