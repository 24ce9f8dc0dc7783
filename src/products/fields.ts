// The fields of a product, each declared once. The import, the document of the index, its settings,
// the search in PostgreSQL, the response and its description read this list.
import type { Selectable } from 'kysely'
import { type Money, toUnitPrice } from '../company/money.ts'
import type { Tables } from '../database/table-types.ts'

export type ProductField = {
  /** The column in the table products (database/schema/20-products.sql) and in files. */
  column: Exclude<keyof Tables['products'], 'id' | 'sku_key'>
  /** The names of the column in other programs, separated by commas. */
  aliases: string
  /** How the cells of files are read and checked. */
  cell: 'sku' | 'text' | 'line' | 'unit' | 'price' | 'currency' | 'hs_code' | 'country' | 'boolean'
  /** In characters, for the cells `text` and `line`. `line`: without line breaks. */
  maxLength?: number
  /** The type of the value in a hit. Without it, a hit does not show the field. */
  shown?: 'text' | 'nullable_text' | 'price'
  /** What OpenAPI says about the value, and its example. */
  description?: string
  example?: string | null
  /**
   * How the words of the field are searched: the place among the searched fields (others are in
   * indexing/settings.ts), of which the first one ranks highest in the engine, and how much a word
   * counts when hits are ordered.
   */
  search?: { place: number; weight: number }
  /** Whether codes, sizes and numbers in it are searched. */
  hasCodes?: true
  /** Whether matches are highlighted. */
  isHighlighted?: true
  /** An example of a value by which products are filtered and counted. */
  facetExample?: string
}

// Shopify, Odoo, PrestaShop and WooCommerce, ERPs in Spanish and English use these aliases.
export const productFields = {
  sku: {
    column: 'sku',
    aliases:
      'variant sku, internal reference, default code, reference, product reference, código, ' +
      'código artículo, código de artículo, código producto, código de producto, cod, cód, ' +
      'cod artículo, referencia, ref, artículo, clave, item code, item number, item no, ' +
      'product code, part number, article, article number, codigo interno, product id, productid',
    cell: 'sku',
    shown: 'text',
    description: 'The product code as the company writes it',
    example: 'AB-742-X',
    search: { place: 4, weight: 1 },
    hasCodes: true,
    isHighlighted: true,
  },
  name: {
    column: 'name',
    aliases:
      'title, product name, productname, nombre, nombre producto, nombre del producto, ' +
      'nombre artículo, producto, item name, denominación, descripción corta, descripción, ' +
      'descripción artículo, description',
    cell: 'line',
    maxLength: 500,
    shown: 'text',
    description: 'The name of the product',
    example: 'Martillo de bola 300 g',
    search: { place: 1, weight: 1 },
    hasCodes: true,
    isHighlighted: true,
  },
  description: {
    column: 'description',
    aliases:
      'body html, short description, sale description, description sale, long description, ' +
      'descripción larga, descripción ampliada, detalle, observaciones',
    cell: 'text',
    maxLength: 10_000,
    shown: 'nullable_text',
    description: 'A longer description of the product',
    example: null,
    search: { place: 8, weight: 0.5 },
    hasCodes: true,
    isHighlighted: true,
  },
  category: {
    column: 'category',
    aliases:
      'categories, product category, categ id, product category name, categoría, categorías, ' +
      'categories x y z, familia, grupo, rubro',
    cell: 'line',
    maxLength: 200,
    shown: 'nullable_text',
    description: 'The category of the product',
    example: 'Herramientas',
    search: { place: 6, weight: 0.5 },
    isHighlighted: true,
    facetExample: 'Herramientas',
  },
  brand: {
    column: 'brand',
    aliases: 'manufacturer, vendor, marca, fabricante, brands, manufacturer name',
    cell: 'line',
    maxLength: 200,
    shown: 'nullable_text',
    description: 'The brand of the product',
    example: null,
    search: { place: 5, weight: 1 },
    hasCodes: true,
    isHighlighted: true,
    facetExample: 'Bellota',
  },
  supplier: {
    column: 'supplier',
    aliases: 'supplier name, proveedor, proveedor habitual, seller, seller ids',
    cell: 'line',
    maxLength: 200,
    shown: 'nullable_text',
    description: 'The supplier of the product',
    example: null,
    search: { place: 9, weight: 0.4 },
    isHighlighted: true,
    facetExample: 'Ferretería Soler',
  },
  unit: {
    column: 'unit',
    aliases:
      'unit of measure, uom, uom id, unidad, unidad de medida, unidad medida, ud, um, u m, ' +
      'unidad venta, measure',
    cell: 'unit',
    shown: 'nullable_text',
    description: 'Unit code of UN/ECE Recommendation 20',
    example: 'C62',
  },
  price: {
    column: 'price',
    aliases:
      'regular price, variant price, list price, lst price, sales price, unit price, ' +
      'unitprice, price tax excluded, price tax excl, precio, precio unitario, precio venta, ' +
      'precio de venta, pvp, p v p, tarifa, precio neto, precio lista, precio de lista',
    cell: 'price',
    shown: 'price',
    example: '12.50',
  },
  currency: {
    column: 'currency',
    aliases: 'currency id, price currency, moneda, divisa, currency code, mon',
    cell: 'currency',
    example: 'EUR',
  },
  hsCode: {
    column: 'hs_code',
    aliases:
      'hs code, variant hs code, commodity code, tariff code, código arancelario, arancel, ' +
      'partida arancelaria, tariff number',
    cell: 'hs_code',
    shown: 'nullable_text',
    description: 'Harmonised System code',
    example: '820520',
    isHighlighted: true,
  },
  originCountry: {
    column: 'origin_country',
    aliases: 'country of origin, country of manufacture, país de origen, país origen, origen',
    cell: 'country',
    shown: 'nullable_text',
    description: 'ISO 3166-1 alpha-2',
    example: 'ES',
  },
  active: {
    column: 'active',
    aliases: 'published, activo, activa, visible, enabled, active 0 1, is active, vigente',
    cell: 'boolean',
  },
} as const satisfies Record<string, ProductField>

type Fields = typeof productFields
type NameWith<Property> = {
  [Name in keyof Fields]: Fields[Name] extends Property ? Name : never
}[keyof Fields]

/** The fields that a hit shows. */
export type ShownName = NameWith<{ shown: string }>
/** The fields whose words are searched. */
export type SearchedName = NameWith<{ search: object }>
/** The fields in which matches are highlighted. */
export type HighlightedName = NameWith<{ isHighlighted: true }>
/** The fields by which products are filtered and counted. */
export type FacetName = NameWith<{ facetExample: string }>

/** The columns of product files. */
export type ProductColumn = Fields[keyof Fields]['column']

const entries = Object.entries<ProductField>(productFields)
const listNames = <Name>(property: keyof ProductField) =>
  entries.filter(([, field]) => field[property]).map(([name]) => name as Name)

export const shownNames = listNames<ShownName>('shown')
export const highlightedNames = listNames<HighlightedName>('isHighlighted')
export const facetNames = listNames<FacetName>('facetExample')
export const namesWithCodes = listNames<NameWith<{ hasCodes: true }>>('hasCodes')
export const fileColumns = entries.map(([, { column }]) => column as ProductColumn)
/** The most important first. */
export const searchedNames = listNames<SearchedName>('search').toSorted(
  (a, b) => productFields[a].search.place - productFields[b].search.place,
)

type Shown = { text: string; nullable_text: string | null; price: Money | null }

/** A product as a hit shows it. */
export type Product = { id: string } & {
  [Name in ShownName]: Shown[Fields[Name]['shown']]
}

/** The columns that a product is made of. */
const productColumns = ['id', ...fileColumns] as const
export const shownColumns = productColumns.filter((column) => column !== 'active')
export type ProductRow = Pick<
  Selectable<Tables['products']>,
  Exclude<(typeof productColumns)[number], 'active'>
>

const shownFields = shownNames.map((name) => [name, productFields[name].column] as const)

/** Returns a product as a hit shows it. */
export function toProduct(row: ProductRow): Product {
  const product: Record<string, unknown> = { id: row.id }
  for (const [name, column] of shownFields) product[name] = row[column]
  const { price, currency } = row
  product.price = price !== null && currency !== null ? toUnitPrice(price, currency) : null
  return product as Product
}

/** A product with every field. No product in the table has its id. */
export const exampleRow = {
  id: '0',
  ...Object.fromEntries(
    entries.map(([, { column, example, facetExample }]) => [column, example ?? facetExample ?? '']),
  ),
} as ProductRow

/** The values of the examples, as a hit shows them. */
export const exampleProduct: Product = toProduct({
  ...exampleRow,
  id: '4711',
  ...Object.fromEntries(entries.map(([, { column, example }]) => [column, example])),
})
