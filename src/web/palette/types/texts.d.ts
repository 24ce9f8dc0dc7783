// The type of each file of texts.
import type { PaletteTexts } from '../palette.d.ts'

export const palette: PaletteTexts
export default palette
