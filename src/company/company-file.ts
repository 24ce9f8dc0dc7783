// Reads and checks company.json: seller, base currency, time zone, logo and accent colour.
// docs/importing.md describes every field.
import { readFileSync } from 'node:fs'
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { electronicFormatIBAN, isValidIBAN } from 'ibantools'
import { languages } from '../texts/languages.ts'
import { type Brand, readBrand } from './brand.ts'
import { describeSchemaErrors } from './company-file-errors.ts'
import { isCountryCode } from './countries.ts'
import { getCurrencyDigits } from './currencies.ts'

/** The options of a field: what it expects, for errors, and an example. */
const field = (description: string, example: unknown) => ({ description, examples: [example] })

const Text = (maxLength: number, example: string) =>
  Type.String({
    minLength: 1,
    maxLength,
    ...field(`text of 1 to ${maxLength.toLocaleString('en')} characters`, example),
  })
const OrNull = <Schema extends TSchema>(schema: Schema) => {
  const { description, examples = [] } = schema as { description?: string; examples?: unknown[] }
  return Type.Union([schema, Type.Null()], field(`${description}, or null`, examples[0]))
}
const OneOf = <const Value extends string>(values: readonly Value[]) =>
  Type.Unsafe<Value>(
    Type.Union(
      values.map((value) => Type.Literal(value)),
      field(values.map((value) => JSON.stringify(value)).join(' or '), values[0]),
    ),
  )

const bankExample = {
  holder: 'Comercial Ejemplo, S.L.',
  iban: 'ES91 2100 0418 4502 0005 1332',
  bic: 'CAIXESBBXXX',
}
const legalExample = { language: 'es', appliesTo: 'all', text: 'Precios sin transporte.' }

const Bank = Type.Object(
  {
    holder: Text(200, bankExample.holder),
    iban: Text(50, bankExample.iban),
    bic: OrNull(
      Type.String({
        pattern: '^[A-Z0-9]{8}([A-Z0-9]{3})?$',
        ...field('8 or 11 capital letters and digits', bankExample.bic),
      }),
    ),
  },
  { additionalProperties: false, ...field('an object with holder, iban and bic', bankExample) },
)

const LegalText = Type.Object(
  {
    language: OneOf(languages),
    appliesTo: OneOf(['all', 'export', 'intraCommunity']),
    text: Text(2000, legalExample.text),
  },
  {
    additionalProperties: false,
    ...field('an object with language, appliesTo and text', legalExample),
  },
)

export const Seller = Type.Object(
  {
    legalName: Text(200, 'Comercial Ejemplo, S.L.'),
    taxId: Text(50, 'ESB00000000'),
    country: Type.String({ pattern: '^[A-Z]{2}$', ...field('ISO 3166-1 alpha-2', 'ES') }),
    address: Text(1000, 'Calle del Ejemplo, 1\n28000 Madrid\nEspaña'),
    email: Type.String({
      pattern: '^[^\\s@]+@[^\\s@]+$',
      maxLength: 200,
      ...field('an email address of at most 200 characters', 'ventas@example.com'),
    }),
    phone: Text(50, '+34 900 000 000'),
    website: OrNull(
      Type.String({
        pattern: '^https?://[^\\s]+$',
        maxLength: 200,
        ...field(
          'an address of at most 200 characters that begins with https:// or http://',
          'https://example.com',
        ),
      }),
    ),
    bank: OrNull(Bank),
    language: OneOf(languages),
    legal: Type.Array(
      LegalText,
      field('a list of legal texts, which may be empty', [legalExample]),
    ),
  },
  { additionalProperties: false },
)
export type Seller = Static<typeof Seller>

export const CompanyFile = Type.Composite(
  [
    Seller,
    Type.Object({
      baseCurrency: Type.String({ pattern: '^[A-Z]{3}$', ...field('ISO 4217', 'EUR') }),
      timeZone: Text(100, 'Europe/Madrid'),
      logo: Type.Optional(
        OrNull(
          Type.String({
            minLength: 1,
            ...field('the name of an SVG or PNG file, or its data URI', 'logo.svg'),
          }),
        ),
      ),
      accentColor: Type.Optional(
        OrNull(
          Type.String({ pattern: '^#[0-9A-Fa-f]{6}$', ...field('a colour as #rrggbb', '#0b5563') }),
        ),
      ),
    }),
  ],
  { additionalProperties: false, ...field('an object with the fields of docs/importing.md', {}) },
)

export type Company = {
  baseCurrency: string
  timeZone: string
  seller: Seller
  brand: Brand
}

export function readCompany(file: string): Company {
  const content = readCompanyFile(file)
  const { brand, problems: brandProblems } = readFileBrand(content, file)
  const problems = [
    ...describeSchemaErrors(CompanyFile, content),
    ...findInvalidValues(content),
    ...brandProblems,
  ]
  if (problems.length > 0 || !Value.Check(CompanyFile, content)) {
    throw new Error(
      `The company file ${file} is not valid:\n` +
        problems.map((problem) => `  ${problem}`).join('\n'),
    )
  }
  const { baseCurrency, timeZone, logo: _logo, accentColor: _accentColor, ...seller } = content
  return { baseCurrency, timeZone, seller, brand }
}

function readCompanyFile(file: string): unknown {
  try {
    // Removes a byte order mark. Throws if the file has another encoding, such as Windows-1252.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(file)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      throw new Error(
        `COMPANY_FILE: there is no ${file}. Copy company.example.json there ` +
          '(`make env` does it) and enter your company. Its base currency and time zone are ' +
          'recorded with the data and cannot change afterwards.',
        { cause: error },
      )
    }
    const { code, message } = error as NodeJS.ErrnoException
    const reason = code === 'ERR_ENCODING_INVALID_ENCODED_DATA' ? 'save it as UTF-8' : message
    throw new Error(`COMPANY_FILE: ${file} cannot be read as JSON: ${reason}`, { cause: error })
  }
}

function readFileBrand(content: unknown, file: string): ReturnType<typeof readBrand> {
  const { logo, accentColor } = Object(content) as { [field: string]: unknown }
  const fields = CompanyFile.properties
  return readBrand(
    {
      logo: Value.Check(fields.logo, logo) ? (logo ?? null) : null,
      accentColor: Value.Check(fields.accentColor, accentColor) ? (accentColor ?? null) : null,
    },
    file,
  )
}

/** Returns the problems that a schema cannot find, in the fields that match the schema. */
function findInvalidValues(content: unknown): string[] {
  const problems: string[] = []
  const { baseCurrency, timeZone, country, bank } = Object(content) as { [field: string]: unknown }
  const fields = CompanyFile.properties
  if (
    Value.Check(fields.baseCurrency, baseCurrency) &&
    getCurrencyDigits(baseCurrency) === undefined
  ) {
    problems.push(`/baseCurrency: ${baseCurrency} is not an ISO 4217 currency such as EUR`)
  }
  if (Value.Check(fields.timeZone, timeZone) && !isTimeZone(timeZone)) {
    problems.push(`/timeZone: ${timeZone} is not an IANA time zone such as Europe/Madrid`)
  }
  if (Value.Check(fields.country, country) && !isCountryCode(country))
    problems.push(`/country: ${country} is not an assigned ISO 3166-1 country code such as ES`)
  if (Value.Check(fields.bank, bank) && bank && !isIban(bank.iban)) {
    problems.push(
      '/bank/iban: the check digits are wrong (mod 97): compare it with the bank’s documents. ' +
        `Expected: an IBAN, for example "${bankExample.iban}"`,
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
