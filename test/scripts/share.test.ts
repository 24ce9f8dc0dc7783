// scripts/share.ts: the program that creates, lists and revokes quote links.
import t from 'tap'
import { share } from '../../scripts/share.ts'
import { hashLinkToken } from '../../src/quotes/links/read-link.ts'
import { addQuote } from '../support/database/add-quote.ts'
import { runInProcess } from '../support/run-in-process.ts'
import { startProgram } from '../support/run-program.ts'
import { type TestService, testService } from '../support/service/test-service.ts'

const acceptJson = { accept: 'application/json' }

t.test('scripts/share.ts creates, lists and revokes links', async (t) => {
  const service = await testService(t, { index: false })
  await addQuote(service.db, 'P-1')
  await addQuote(service.db, 'P-9', { status: 'draft' })
  const runShare = (...args: string[]) => runShareScript(service, args)

  t.test('creates a link that opens, lists it and revokes it once', async (t) => {
    const created = await runShare('create', 'P-1', '--expires', '30d', '--language', 'en')
    t.equal(created.status, 0, created.stderr)
    t.match(created.stdout.trim(), /^https:\/\/quotes\.example\/erp\/quote\/share\/[\w-]{43}$/)
    const path = `/quote/share/${created.stdout.trim().split('/').at(-1)}`
    t.match((await service.app.inject({ url: path, headers: acceptJson })).json(), {
      document: { language: 'en' },
      link: { expiresAt: /^20/ },
    })
    const listed = await runShare('list', 'P-1')
    t.match(listed, { status: 0, stdout: /version 1\t.*expires 20/ })
    const id = listed.stdout.split('\t')[0] ?? ''
    t.match(await runShare('revoke', id), { status: 0 })
    t.equal((await service.app.inject(path)).statusCode, 410)
    t.match(await runShare('revoke', id), { status: 1, stderr: /no link/ })
  })

  for (const [name, skewMs] of [
    ['behind', -3_600_000 * 24],
    ['ahead of', 3_600_000 * 24],
  ] as const)
    t.test(`a lifetime begins by the clock of the database, if it is ${name} it`, async (t) => {
      const skewed = `Date = class extends Date {
        constructor(...values) { values.length ? super(...values) : super(Date.now() + ${skewMs}) }
      }`
      const words = ['scripts/share.ts', 'create', 'P-1', '--expires', '1h', '--json']
      const created = startProgram(t, words, {
        ...shareEnv(service),
        NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(skewed)}`,
      })
      t.equal(await created.exit, 0, created.output())
      const { id, expiresAt } = JSON.parse(created.output())
      const { created_at } = await service.db
        .selectFrom('quote_shares')
        .where('id', '=', id)
        .select('created_at')
        .executeTakeFirstOrThrow()
      t.equal(new Date(expiresAt).getTime() - created_at.getTime(), 3_600_000)
    })

  t.test('explains why a quote cannot be shared', async (t) => {
    await Promise.all(
      [
        { args: ['create', 'P-9'], expected: { status: 1, stderr: /draft/ } },
        { args: ['create', 'P-404'], expected: { status: 1, stderr: /no quote P-404/ } },
        {
          args: ['create', 'P-1', '--expires', 'soon'],
          expected: { status: 2, stderr: /30d/ },
        },
        {
          args: ['create', 'P-1', '--version', '7'],
          expected: { status: 1, stderr: /version 7/ },
        },
        { args: ['--help'], expected: { status: 0, stdout: /Usage/ } },
      ].map(async ({ args, expected }) =>
        t.match(await runShare(...args), expected, args.join(' ')),
      ),
    )
  })

  t.test('creates the links of a file, except for quotes that cannot be shared', async (t) => {
    const output = await runShareScript(
      service,
      ['create', '--file', '-'],
      '\ufeffP-1\r\n\nP-9\nP-1\nP-404\n',
    )
    t.match(output, {
      status: 1,
      stderr: /P-9: .*draft.*P-404: .*no quote.*2 links created, 2 rejected/s,
    })
    const links = output.stdout
      .trim()
      .split('\n')
      .map((line) => line.split('\t'))
    t.same(
      links.map(([number]) => number),
      ['P-1', 'P-1'],
    )
    for (const [, url = ''] of links)
      t.equal((await service.app.inject(`/quote/share/${url.split('/').at(-1)}`)).statusCode, 200)
    t.match(await runShare('create', '--file', '/nowhere/numbers'), {
      status: 1,
      stderr: /ENOENT/,
    })
  })

  t.test('writes JSON, and lists the counted views', async (t) => {
    const created = await runShareScript(
      service,
      ['create', '--file', '-', '--json', '--expires', 'never'],
      'P-1\n',
    )
    t.match(JSON.parse(created.stdout), {
      number: 'P-1',
      version: 1,
      id: /^\d+$/,
      url: /^https:\/\/quotes\.example\/erp\/quote\/share\/[\w-]{43}$/,
      expiresAt: null,
    })
    const token = created.stdout.split('/').at(-1)?.slice(0, 43) ?? ''
    const { id } = await service.db
      .selectFrom('quote_shares')
      .select('id')
      .where('token_hash', '=', hashLinkToken(token))
      .executeTakeFirstOrThrow()
    const addView = () =>
      service.db.insertInto('quote_share_views').values({ share_id: id }).execute()
    await addView()
    t.match((await runShare('list', 'P-1')).stdout, /never expires\topened 1 time, last 20/)
    await addView()
    t.match((await runShare('list', 'P-1')).stdout, /never expires\topened 2 times, last 20/)
    const [firstLine = ''] = (await runShare('list', 'P-1', '--json')).stdout.split('\n')
    t.match(JSON.parse(firstLine), { id, version: 1, views: 2, revokedAt: null })
    const [, secondLine = ''] = (await runShare('list', 'P-1', '--json')).stdout.split('\n')
    t.match(JSON.parse(secondLine), { views: null }, 'nothing is counted: unknown, not zero')
    const counting = await runShareScript(service, ['list', 'P-1', '--json'], '', {
      COUNT_VIEWS: 'true',
    })
    t.match(JSON.parse(counting.stdout.split('\n')[1] ?? ''), { views: 0 })
    t.equal(JSON.parse(created.stdout).id, id, 'create prints the id that revoke takes')
  })

  t.test('revokes the links of a quote, of a version and of a file', async (t) => {
    await addQuote(service.db, 'R-1')
    await addQuote(service.db, 'R-1', { version: 2 })
    const create = async (version: number): Promise<{ id: string; url: string }> =>
      JSON.parse((await runShare('create', 'R-1', '--version', `${version}`, '--json')).stdout)
    const links = [await create(1), await create(1), await create(2), await create(2)]
    const isOpen = () =>
      Promise.all(
        links.map(async ({ url }) => {
          const path = `/quote/share/${url.split('/').at(-1)}`
          return (await service.app.inject(path)).statusCode === 200
        }),
      )
    const [first, second] = links.map(({ id }) => id)
    t.match(await runShareScript(service, ['revoke', '--file', '-'], `${first}\n\n${first}\n`), {
      status: 1,
      stdout: `Link ${first} is revoked.\n`,
      stderr: /There is no link \d+, or it is already revoked\.\n1 link revoked, 1 not found/,
    })
    t.same(await isOpen(), [false, true, true, true])
    t.match(await runShareScript(service, ['revoke', '--file', '-', '--json'], `${second}\n`), {
      status: 0,
      stdout: `${JSON.stringify({ id: second, revoked: 1 })}\n`,
    })
    t.match(await runShareScript(service, ['revoke', '--file', '-'], `${second}\nabc\n`), {
      status: 2,
      stdout: '',
      stderr: /ID abc is not a whole number/,
    })
    t.match(await runShare('revoke', '--number', 'R-9'), {
      status: 1,
      stderr: /There is no link of quote R-9\. Is the number right\?/,
    })
    t.match(await runShare('revoke', '--number', 'R-1', '--version', '1'), {
      status: 0,
      stdout: 'There is no open link of quote R-1 version 1.\n',
    })
    t.same(await isOpen(), [false, false, true, true])
    t.match(await runShare('revoke', '--number', 'R-1', '--json'), {
      status: 0,
      stdout: '{"number":"R-1","version":null,"revoked":2}\n',
    })
    t.same(await isOpen(), [false, false, false, false])
  })

  t.test('says for which address the links are if PUBLIC_BASE_URL is not set', async (t) => {
    const created = await runShareScript(service, ['create', 'P-1'], '', { PUBLIC_BASE_URL: '' })
    t.match(created, {
      status: 0,
      stdout: /^http:\/\/127\.0\.0\.1:3000\/quote\/share\/[\w-]{43}\n$/,
      stderr: /PUBLIC_BASE_URL is not set, so the links begin with http:\/\/127\.0\.0\.1:3000/,
    })
    // As docker compose sets it if the operator does not.
    const local = await runShareScript(service, ['create', 'P-1'], '', {
      PUBLIC_BASE_URL: 'http://127.0.0.1:3000',
    })
    t.match(local, {
      status: 0,
      stderr: /PUBLIC_BASE_URL names this machine, .* and open on this machine only\. Set it/,
    })
  })

  t.test('says what to check if PostgreSQL cannot be reached', async (t) => {
    const failed = await runShareScript(service, ['list', 'P-1'], '', {
      IMPORTER_DATABASE_URL: 'postgres://tqs:tqs@localhost:1/tqs',
    })
    t.match(failed, {
      status: 1,
      stderr: /^PostgreSQL cannot be reached: connect ECONNREFUSED .+ Check .+ in DATABASE_URL/,
    })
  })

  t.test('rejects arguments that do not belong together', async (t) => {
    await Promise.all(
      [
        ['create'],
        ['create', 'P-1', '--file', '-'],
        ['create', '--file', '-', '--version', '1'],
        ['list'],
        ['list', 'P-1', '--expires', '1d'],
        ['revoke', 'x'],
        ['revoke'],
        ['revoke', '1', '--number', 'P-1'],
        ['revoke', '1', '--version', '2'],
        ['list', 'P-1', '--number', 'P-1'],
        ['x', 'P-1'],
        [],
      ].map(async (args) =>
        t.match(await runShare(...args), { status: 2, stderr: /See --help/ }, args.join(' ')),
      ),
    )
  })
})

/** What the program reads from the environment. */
const shareEnv = ({ roles }: TestService) => ({
  IMPORTER_DATABASE_URL: roles.importer,
  PUBLIC_BASE_URL: 'https://quotes.example/erp/',
})

const runShareScript = (
  service: TestService,
  args: string[],
  input = '',
  env: Record<string, string> = {},
) => runInProcess(share, args, { env: { ...shareEnv(service), ...env }, input })
