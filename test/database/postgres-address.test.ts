// What the URL of a database may name.
import t from 'tap'
import { parsePostgresUrl } from '../../src/database/postgres-address.ts'

t.test('one host stays as it is', async (t) => {
  const url = 'postgresql://quotes:a%40b@db:5432/quotes?sslmode=require'
  t.same(parsePostgresUrl(url), {
    urls: [url],
    needsPrimary: false,
    login: { name: 'quotes', password: 'a@b' },
  })
})

t.test('several hosts, or target_session_attrs, mean the primary', async (t) => {
  t.match(parsePostgresUrl('postgres://u:p@h1,h2:5433,[::1]:5434/db?sslmode=require'), {
    urls: [
      'postgres://u:p@h1/db?sslmode=require',
      'postgres://u:p@h2:5433/db?sslmode=require',
      'postgres://u:p@[::1]:5434/db?sslmode=require',
    ],
    needsPrimary: true,
  })
  for (const value of ['read-write', 'primary'])
    t.match(parsePostgresUrl(`postgres://h/db?target_session_attrs=${value}`), {
      urls: ['postgres://h/db'],
      needsPrimary: true,
    })
})

t.test('says what is wrong, without the password', async (t) => {
  for (const [url, problem] of [
    ['postgres://u:secret@h1,/db', /each host must be a name/],
    ['postgres://u:secret@h1:99999,h2/db', /a port from 1 to 65535/],
    ['postgres://u:se/cret@h1,h2/db', /it must be postgres:/],
    ['postgres://u:50%offsecret@h1/db', /has a % that is no code; .* write % as %25/],
    ['postgres://u:secret@h1,h2/db?target_session_attrs=any', /must be read-write/],
  ] as const) {
    t.throws(() => parsePostgresUrl(url), { message: problem }, url)
    t.throws(() => parsePostgresUrl(url), { message: /^(?!.*se\/?cret)/ }, url)
  }
})
