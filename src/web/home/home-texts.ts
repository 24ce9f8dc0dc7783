// The words of the page / in Spanish and in English.
import type { Language } from '../dashboard/dashboard-texts.ts'

const homeEs = {
  heading: 'Buscar, medir, presupuestar',
  intro:
    'Tres cosas sobre el catálogo y los presupuestos, funcionando aquí mismo con los datos de este servicio, y el código para tenerlas en tus páginas y programas.',
  language: 'English',
  needsScript: 'Lo vivo de esta página necesita JavaScript; los ejemplos de código valen sin él.',
  copy: 'Copiar',
  copied: 'Copiado',
  answer: 'La respuesta empieza así',
  search: {
    title: 'Buscar productos',
    text: 'A cada tecla, con erratas, sinónimos y códigos exactos. Ctrl+K (⌘K) la abre desde cualquier sitio.',
    label: 'Producto, palabra o código',
    placeholder: 'Prueba «jumbo strage bag», «taladro» o «85123a»',
    chosen: 'Elegido: {name} · {sku} · {price}',
    withoutPrice: 'sin precio',
    tag: 'En tu página: una etiqueta, desde cualquier origen de su clave',
    yourKey: 'tqp_… (scripts/api-key.ts create --kind publishable)',
    curl: 'Desde un programa',
  },
  stats: {
    title: 'Cifras',
    text: 'Presupuestos, aceptación e ingresos, exactos al céntimo y al día en dos segundos.',
    loading: 'Cargando…',
    revenue: 'Ingresos',
    quotes: 'Presupuestos',
    acceptance: 'Aceptación',
    month: 'Mes',
    drawing:
      'Columnas de los ingresos de {year} por mes, en {currency}. La tabla que sigue dice lo mismo.',
    revenueIn: 'Ingresos de {year} ({currency})',
    open: 'Abrir las cifras de {year}',
    openAny: 'Abrir las cifras',
    needsKey: 'Aquí las cifras piden una clave con el permiso stats:read: el panel la pregunta.',
    unavailable: 'Las cifras no responden ahora.',
    curl: 'Desde un programa',
  },
  quote: {
    title: 'Presupuesto por enlace',
    text: 'El cliente lo abre sin cuenta: página, PDF o JSON. Lo que se envió no cambia aunque cambie la base de datos.',
    open: 'Abrir el presupuesto {number}',
    openAny: 'Abrir el presupuesto',
    total: 'Total',
    validUntil: 'Válido hasta',
    lines: '{count} líneas',
    buyer: 'Cliente',
    unavailable: 'El presupuesto no se puede leer ahora.',
    none: 'Aquí no se muestra ninguno. Un enlace se crea así:',
    curl: 'El mismo, en JSON o en PDF',
  },
}
export type HomeWords = typeof homeEs

const homeEn: HomeWords = {
  heading: 'Search, measure, quote',
  intro:
    'Three things over the catalogue and its quotes, at work right here on the data of this service, and the code to have them in your own pages and programs.',
  language: 'Español',
  needsScript: 'What is alive on this page needs JavaScript; the code examples hold without it.',
  copy: 'Copy',
  copied: 'Copied',
  answer: 'The answer begins like this',
  search: {
    title: 'Search products',
    text: 'At every keystroke, with typos, synonyms and exact codes. Ctrl+K (⌘K) opens it from anywhere.',
    label: 'Product, word or code',
    placeholder: 'Try “jumbo strage bag”, “taladro” or “85123a”',
    chosen: 'Chosen: {name} · {sku} · {price}',
    withoutPrice: 'no price',
    tag: 'In your page: one tag, from any origin of its key',
    yourKey: 'tqp_… (scripts/api-key.ts create --kind publishable)',
    curl: 'From a program',
  },
  stats: {
    title: 'Figures',
    text: 'Quotes, acceptance and revenue, exact to the cent and up to date within two seconds.',
    loading: 'Loading…',
    revenue: 'Revenue',
    quotes: 'Quotes',
    acceptance: 'Acceptance',
    month: 'Month',
    drawing:
      'Columns of the revenue of {year} by month, in {currency}. The table that follows says the same.',
    revenueIn: 'Revenue of {year} ({currency})',
    open: 'Open the figures of {year}',
    openAny: 'Open the figures',
    needsKey: 'Here figures need a key with the scope stats:read: the dashboard asks for it.',
    unavailable: 'The figures do not answer at the moment.',
    curl: 'From a program',
  },
  quote: {
    title: 'A quote behind a link',
    text: 'The customer opens it without an account: a page, a PDF or JSON. What was sent does not change, whatever changes in the database.',
    open: 'Open the quote {number}',
    openAny: 'Open the quote',
    total: 'Total',
    validUntil: 'Valid until',
    lines: '{count} lines',
    buyer: 'Customer',
    unavailable: 'The quote cannot be read at the moment.',
    none: 'None is shown here. A link is made like this:',
    curl: 'The same, as JSON or PDF',
  },
}

export const homeWords: Record<Language, HomeWords> = { es: homeEs, en: homeEn }
