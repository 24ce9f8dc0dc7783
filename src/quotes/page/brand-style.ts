// Builds the style and the logo of the company on the quote page.
import type { Brand } from '../../company/brand.ts'

const logoMediaTypes = { svg: 'image/svg+xml', png: 'image/png' }

/** Returns CSS that sets the accent colour, or null for the default. */
export function buildBrandStyle({ accent }: Brand): string | null {
  if (!accent) return null
  const variables = (color: string, onColor: string) =>
    `:root{--accent:${color};--on-accent:${onColor}}`
  return (
    variables(accent.light, accent.onLight) +
    `@media screen and (prefers-color-scheme:dark){${variables(accent.dark, accent.onDark)}}`
  )
}

/** Returns the logo as a data URI, or null. Browsers run no scripts in images. */
export function buildLogoUri({ logo }: Brand): string | null {
  return logo && `data:${logoMediaTypes[logo.type]};base64,${logo.data}`
}
