// Reads and checks company.json: seller, base currency, time zone.
import { readFileSync } from 'node:fs'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { electronicFormatIBAN, isValidIBAN } from 'ibantools'
import { getCurrencyDigits } from './currencies.ts'

const Text = (maxLength: number) => Type.String({ minLength: 1, maxLength })

export const Seller = Type.Object(
  {
    legalName: Text(200),
    taxId: Text(50),
    country: Type.String({ pattern: '^[A-Z]{2}$' }),
    address: Text(1000),
    email: Type.String({ pattern: '^[^\\s@]+@[^\\s@]+$', maxLength: 200 }),
    phone: Text(50),
    website: Type.Union([
      Type.String({ pattern: '^https?://[^\\s]+$', maxLength: 200 }),
      Type.Null(),
    ]),
    bank: Type.Union([
      Type.Object(
        {
          holder: Text(200),
          iban: Text(50),
          bic: Type.Union([Type.String({ pattern: '^[A-Z0-9]{8}([A-Z0-9]{3})?$' }), Type.Null()]),
        },
        { additionalProperties: false },
      ),
      Type.Null(),
    ]),
    language: Type.Union([Type.Literal('es'), Type.Literal('en')]),
    legal: Type.Array(
      Type.Object(
        {
          language: Type.Union([Type.Literal('es'), Type.Literal('en')]),
          appliesTo: Type.Union([
            Type.Literal('all'),
            Type.Literal('export'),
            Type.Literal('intraCommunity'),
          ]),
          text: Text(2000),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type Seller = Static<typeof Seller>

const CompanyFile = Type.Composite(
  [
    Seller,
    Type.Object({ baseCurrency: Type.String({ pattern: '^[A-Z]{3}$' }), timeZone: Text(100) }),
  ],
  {
    additionalProperties: false,
  },
)

export type Company = { baseCurrency: string; timeZone: string; seller: Seller }

/** Returns the company of a file such as company.example.json. The error lists all problems. */
export function readCompany(file: string): Company {
  const content = readCompanyFile(file)
  const problems = [...findSchemaErrors(content), ...findInvalidValues(content)]
  if (problems.length > 0 || !Value.Check(CompanyFile, content)) {
    throw new Error(
      `The company file ${file} is not valid:\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    )
  }
  const { baseCurrency, timeZone, ...seller } = content
  return { baseCurrency, timeZone, seller }
}

function readCompanyFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new Error(
        `COMPANY_FILE: there is no ${file}. Copy company.example.json there ` +
          '(`make env` does it) and enter your company. Its base currency and time zone are ' +
          'recorded with the data and cannot change afterwards.',
        { cause: error },
      )
    }
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`COMPANY_FILE: ${file} cannot be read as JSON: ${reason}`, { cause: error })
  }
}

function findSchemaErrors(content: unknown): string[] {
  return [...Value.Errors(CompanyFile, content)].map(
    ({ path, message }) => `${path || '/'}: ${message}`,
  )
}

/** Returns the problems that a schema cannot find, in the fields that match the schema. */
function findInvalidValues(content: unknown): string[] {
  const problems: string[] = []
  const { baseCurrency, timeZone, bank } = Object(content) as { [field: string]: unknown }
  const fields = CompanyFile.properties
  if (
    Value.Check(fields.baseCurrency, baseCurrency) &&
    getCurrencyDigits(baseCurrency) === undefined
  ) {
    problems.push(`/baseCurrency: ${baseCurrency} is not an ISO 4217 currency`)
  }
  if (Value.Check(fields.timeZone, timeZone) && !isTimeZone(timeZone)) {
    problems.push(`/timeZone: ${timeZone} is not an IANA time zone such as Europe/Madrid`)
  }
  if (Value.Check(fields.bank, bank) && bank && !isIban(bank.iban)) {
    problems.push(
      '/bank/iban: the check digits are wrong (mod 97): compare it with the bank’s documents',
    )
  }
  return problems
}

function isIban(text: string): boolean {
  return isValidIBAN(electronicFormatIBAN(text) ?? '')
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone })
    return true
  } catch {
    // Intl throws a RangeError for an unknown time zone.
    return false
  }
}
