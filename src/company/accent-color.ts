// The accent colour of the company: whether it can be read, and its form for dark pages.

/** The backgrounds of the pages that have the least contrast (src/pages/page-theme.css). */
const lightBackground = '#f3f7f7'
const darkBackground = '#1c262a'

/** WCAG 2.2, 1.4.3: the contrast of text of normal size. */
export const minContrast = 4.5

/** `on…` is the colour of text on a button of that colour. All are written #rrggbb. */
export type AccentColors = { light: string; onLight: string; dark: string; onDark: string }

type Rgb = [red: number, green: number, blue: number]

export function contrastOnLight(color: string): number {
  return contrast(color, lightBackground)
}

/** Returns the colour, and a lighter one that can be read on a dark page. */
export function toAccentColors(color: string): AccentColors {
  const dark = mixUntilReadable(color, '#ffffff', darkBackground)
  return { light: color, onLight: '#ffffff', dark, onDark: darkTextColorOn(dark) }
}

export function darkenUntilReadable(color: string): string {
  return mixUntilReadable(color, '#000000', lightBackground)
}

function darkTextColorOn(background: string): string {
  return contrast('#0a2328', background) >= minContrast ? '#0a2328' : '#000000'
}

/** Mixes a colour with another in small steps until its contrast is sufficient. */
function mixUntilReadable(color: string, other: string, background: string): string {
  const steps = 50
  for (let step = 0; step < steps; step++) {
    const mixed = mix(color, other, step / steps)
    if (contrast(mixed, background) >= minContrast) return mixed
  }
  return other
}

function mix(color: string, other: string, share: number): string {
  const to = parse(other)
  return format(parse(color).map((part, index) => part + ((to[index] ?? 0) - part) * share) as Rgb)
}

/** The contrast ratio of WCAG 2.2. */
function contrast(color: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(color), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: string): number {
  const [red, green, blue] = parse(color).map((part) => {
    const value = part / 255
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4
  }) as Rgb
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function parse(color: string): Rgb {
  return [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)) as Rgb
}

function format(rgb: Rgb): string {
  return `#${rgb.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`
}
