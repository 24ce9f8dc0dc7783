// Files in the form of the exports of other programs, ten rows each, without any change.
// The forms are those of the programs; the data is invented.
import t from 'tap'
import { testDatabase } from '../support/database/test-database.ts'
import { deleteProducts, readProducts } from './import-files.ts'
import { runScript } from './import-script.ts'

const database = await testDatabase(t)
const { importer } = database.roles
t.beforeEach(async () => {
  await deleteProducts(database)
  await database.db.deleteFrom('quotes').execute()
})

const ten = <Value>(create: (number: number) => Value): Value[] =>
  Array.from({ length: 10 }, (_, index) => create(index + 1))

type ProgramFile = {
  options?: string[]
  content: string | Buffer
  /** The first product. */
  first: Record<string, unknown>
}

const productFiles: Record<string, ProgramFile> = {
  WooCommerce: {
    options: ['--currency', 'EUR', '--ignore-unknown'],
    content: [
      '\ufeffID,Type,SKU,Name,Published,"Is featured?","Short description",Description,' +
        '"Regular price",Categories,Images,"Meta: _x"',
      ...ten((n) => `${n},simple,WC-${n},"Silla ${n}",1,0,"Corta","<p>Larga</p>",${n}.5,Sillas,,`),
    ].join('\n'),
    first: {
      sku: 'WC-1',
      name: 'Silla 1',
      description: '<p>Larga</p>',
      price: '1.5',
      category: 'Sillas',
    },
  },
  Shopify: {
    options: ['--currency', 'USD', '--ignore-unknown'],
    content: [
      'Handle,Title,Body (HTML),Vendor,Product Category,Type,Tags,Published,Variant SKU,' +
        'Variant Price,Status',
      ...ten(
        (n) =>
          `lamp-${n},Lamp ${n},"<p>A, B</p>",Ejemplo,Home,Lamp,"a, b",true,LA-${n},${n}9.90,active`,
      ),
    ].join('\r\n'),
    first: { sku: 'LA-1', name: 'Lamp 1', brand: 'Ejemplo', price: '19.90', currency: 'USD' },
  },
  PrestaShop: {
    options: ['--currency', 'EUR', '--ignore-unknown'],
    content: [
      'Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax excluded;Tax rules ID;' +
        'Reference #;Manufacturer;Description',
      ...ten((n) => `${n};${n % 2};Taza ${n};Hogar,Cocina;${n},90;1;TZ-0${n};Ejemplo;Blanca`),
    ].join('\n'),
    first: { sku: 'TZ-01', name: 'Taza 1', category: 'Hogar,Cocina', price: '1.90', active: true },
  },
  Magento: {
    options: ['--currency', 'EUR', '--ignore-unknown'],
    content: [
      'sku,store_view_code,attribute_set_code,product_type,categories,name,description,' +
        'short_description,weight,product_online,price,country_of_manufacture',
      ...ten(
        (n) =>
          `24-MB0${n},,Bag,simple,"Default/Gear",Bag ${n},"Text, ""two""",Short,,1,${n}4.0000,es`,
      ),
    ].join('\n'),
    first: {
      sku: '24-MB01',
      name: 'Bag 1',
      description: 'Text, "two"',
      price: '14.0000',
      origin_country: 'ES',
    },
  },
  Odoo: {
    options: ['--currency', 'EUR', '--ignore-unknown'],
    content: [
      '"id","default_code","name","list_price","standard_price","uom_id","categ_id","active"',
      ...ten(
        (n) =>
          `"__export__.p_${n}","FURN_00${n}","Mesa ${n}","${n}50.0","10.0","Units","All / Mesas","True"`,
      ),
    ].join('\n'),
    first: {
      sku: 'FURN_001',
      name: 'Mesa 1',
      price: '150.0',
      unit: 'C62',
      category: 'All / Mesas',
    },
  },
  Northwind: {
    options: ['--currency', 'USD', '--ignore-unknown'],
    content: [
      'ProductID,ProductName,SupplierID,CategoryID,QuantityPerUnit,UnitPrice,UnitsInStock',
      ...ten((n) => `${n},Chai ${n},1,1,"10 boxes x 20 bags",${n}8.00,39`),
    ].join('\n'),
    first: { sku: '1', name: 'Chai 1', price: '18.00' },
  },
  'a Chilean ERP': {
    options: ['--numbers', 'comma', '--currency', 'CLP', '--ignore-unknown'],
    content: Buffer.from(
      [
        'Código;Descripción;Familia;UM;Precio Neto;Stock',
        ...ten((n) => `00${n};CAÑERÍA PVC ${n};GASFITERÍA;UN;$ ${n}.990;12`),
      ].join('\r\n'),
      'latin1',
    ),
    first: { sku: '001', name: 'CAÑERÍA PVC 1', unit: 'C62', price: '1990', currency: 'CLP' },
  },
  'a Spanish price list': {
    options: ['--ignore-unknown'],
    // Windows-1252 has the euro sign at 0x80, where Latin-1 has a control character.
    content: Buffer.from(
      [
        'Ref.\tDenominación\tMarca\tUd.\tP.V.P.\tMoneda\tEAN',
        ...ten(
          (n) =>
            `TR-${n}\tTornillo M${n}\tEjemplo\tUD\t${n === 1 ? '1.711,00' : '167,50'} \u0080\tEUR`,
        ),
      ].join('\r\n'),
      'latin1',
    ),
    first: { sku: 'TR-1', name: 'Tornillo M1', brand: 'Ejemplo', unit: 'C62', price: '1711.00' },
  },
  'a Colombian price list': {
    options: ['--currency', 'COP', '--ignore-unknown'],
    content: [
      'CÓDIGO PRODUCTO,NOMBRE,UNIDAD,"PRECIO UNITARIO","% IVA"',
      ...ten((n) => `P-${n},Cemento gris ${n},UND,"$1.250.00${n % 10},50",19 %`),
    ].join('\n'),
    first: {
      sku: 'P-1',
      name: 'Cemento gris 1',
      unit: 'C62',
      price: '1250001.50',
      currency: 'COP',
    },
  },
}
for (const [program, { options = [], content, first }] of Object.entries(productFiles))
  t.test(`reads products as ${program} writes them`, async (t) => {
    const ended = `${content}`.endsWith('\n')
      ? content
      : Buffer.concat([Buffer.from(content), Buffer.from('\n')])
    const dryRun = await runScript(['products', '-', ...options, '--dry-run'], importer, ended)
    t.match(dryRun, { status: 0, stdout: /10 inserted.*\nNothing was written/s }, dryRun.stderr)
    t.same(await readProducts(database), [])
    const imported = await runScript(['products', '-', ...options], importer, ended)
    t.match(imported, { status: 0, stdout: /\nproducts: 10 inserted/ }, imported.stderr)
    t.match((await readProducts(database))[0], first, imported.stdout)
  })

const quoteFiles: Record<string, { options: string[]; content: string; lines: string }> = {
  'a Spanish ERP': {
    options: ['--ignore-unknown'],
    content: [
      'Nº presupuesto;Fecha;Estado;Cliente;NIF;Moneda;Código;Concepto;Cantidad;Precio;Dto. %;IVA %;Total',
      ...ten(
        (n) =>
          `P-${Math.ceil(n / 2)};03/11/2026;Enviado;Cliente  ${Math.ceil(n / 2)};B1;eur;A-${n};Tubo;1.000,5;1,25;10 %;21 %;x`,
      ),
      'P-6;13/11/2026;ACEPTADO;Cliente 6;B1;EUR;A-1;Tubo;2;1;;21 %;x',
    ].join('\n'),
    lines: '11',
  },
  Northwind: {
    options: [
      '--set',
      'status=accepted',
      '--set',
      'issued_on=1997-01-01',
      '--currency',
      'USD',
      '--map',
      'ProductID=description',
      '--ignore-unknown',
    ],
    content: [
      'OrderID,ProductID,UnitPrice,Quantity,Discount',
      ...ten((n) => `1024${n},${n},${n}4.00,12,0`),
    ].join('\n'),
    lines: '10',
  },
}

for (const [program, { options, content, lines }] of Object.entries(quoteFiles))
  t.test(`reads quotes as ${program} writes them`, async (t) => {
    const imported = await runScript(['quotes', '-', ...options], importer, `${content}\n`)
    t.match(imported.stdout, new RegExp(`\\n${lines} rows read, 0 rejected`), imported.stderr)
  })

t.test('says what to do about columns that it does not know', async (t) => {
  const run = async (args: string[], content: string) =>
    (await runScript(['products', '-', ...args], importer, content)).stderr
  t.match(
    await run([], 'Interno,Nombre,Color\nA,Silla,rojo\n'),
    /unknown columns: "Interno", "Color"\. .*--map "Interno=sku", .*--ignore-unknown\./,
  )
  t.match(
    await run(['--ignore-unknown'], 'Interno,Nombre\nA,Silla\n'),
    /lacks required columns: sku\. .*--map "NAME=sku"/,
  )
  t.match(await run(['--map', 'Otro=sku'], 'Interno,Nombre\nA,Silla\n'), /no column "Otro"/)
  t.match(await run([], 'SKU,sku,Name\nA,A,Silla\n'), /unknown columns: "SKU"/)
  t.match(await run([], 'Ref,Código,Name\nA,A,Silla\n'), /unknown columns: "Ref"/)
  t.match(await run([], 'SKU,Sku,Name\nA,A,Silla\n'), /has the column sku twice: "SKU" and "Sku"\./)
  t.equal(await run(['--map', 'interno=SKU'], 'Interno,NOMBRE\nA,Silla\n'), '')
  t.match(await readProducts(database), [{ sku: 'A', name: 'Silla' }])
})
