// The company that the tests use.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { defaultBrand } from '../../../src/company/brand.ts'
import type { Company } from '../../../src/company/company-file.ts'

export const company: Company = {
  baseCurrency: 'EUR',
  timeZone: 'Europe/Madrid',
  brand: defaultBrand,
  seller: {
    legalName: 'Ferretería de Prueba, S.L.',
    taxId: 'ES B00000000',
    country: 'ES',
    address: 'Calle de la Prueba, 1\n28000 Madrid\nEspaña',
    email: 'ventas@example.com',
    phone: '+34 900 000 000',
    website: 'https://example.com',
    bank: {
      holder: 'Ferretería de Prueba, S.L.',
      iban: 'ES91 2100 0418 4502 0005 1332',
      bic: 'CAIXESBBXXX',
    },
    language: 'es',
    legal: [
      { language: 'es', appliesTo: 'all', text: 'Precios válidos salvo error u omisión.' },
      { language: 'en', appliesTo: 'all', text: 'Errors and omissions excepted.' },
      {
        language: 'es',
        appliesTo: 'export',
        text: 'Operación exenta: artículo 21 de la Ley 37/1992 (exportación).',
      },
      {
        language: 'en',
        appliesTo: 'export',
        text: 'VAT exempt export, article 21 of Spanish law 37/1992.',
      },
      {
        language: 'es',
        appliesTo: 'intraCommunity',
        text: 'Operación exenta: artículo 25 de la Ley 37/1992 (entrega intracomunitaria).',
      },
      {
        language: 'en',
        appliesTo: 'intraCommunity',
        text: 'VAT exempt intra-Community supply, article 25 of Spanish law 37/1992.',
      },
    ],
  },
}

/** Writes the file that COMPANY_FILE names into the directory and returns its path. */
export function writeCompanyFile(directory: string): string {
  const { seller, brand: _, ...rest } = company
  const file = join(directory, 'company.json')
  writeFileSync(file, JSON.stringify({ ...seller, ...rest }))
  return file
}
