// How the company looks on quotes: logo and accent colour.
import {
  type AccentColors,
  contrastOnLight,
  darkenUntilReadable,
  minContrast,
  toAccentColors,
} from './accent-color.ts'
import { type Logo, readLogo } from './logo.ts'

export type Brand = { logo: Logo | null; accent: AccentColors | null }

export const defaultBrand: Brand = { logo: null, accent: null }

type BrandFields = { logo?: string | null; accentColor?: string | null }

/**
 * Returns the logo and the accent colour of a company file, and the problems that a schema cannot
 * find, each with the path of its field.
 */
export function readBrand(
  { logo, accentColor }: BrandFields,
  companyFile: string,
): { brand: Brand; problems: string[] } {
  const problems: string[] = []
  const read = logo ? readLogo(logo, companyFile) : null
  if (read && 'problem' in read) problems.push(`/logo: ${read.problem}`)
  const color = accentColor?.toLowerCase() ?? null
  if (color !== null && contrastOnLight(color) < minContrast)
    problems.push(
      `/accentColor: ${accentColor} has a contrast of ${contrastOnLight(color).toFixed(1)} with ` +
        `the page, and text needs ${minContrast}. A darker one: ${darkenUntilReadable(color)}`,
    )
  return {
    brand: {
      logo: read && !('problem' in read) ? read : null,
      accent: color === null ? null : toAccentColors(color),
    },
    problems,
  }
}
