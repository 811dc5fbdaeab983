//! Tables handed over without copying them row by row: the Arrow C stream interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, RecordBatchIterator,
    StringArray, UInt32Array, make_array,
};
use arrow_data::transform::MutableArrayData;
use arrow_schema::ArrowError;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use trace::{Data, Table};

/// One table. Anything that reads Arrow streams takes it, such as `polars.DataFrame(columns)`.
#[pyclass(frozen, module = "ropewalk._core")]
pub struct Columns {
    batch: RecordBatch,
}

#[pymethods]
impl Columns {
    /// The rows of all `tables`, which have the same columns, with a column `part` in front: the index of the table.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "values come out of Python owned")]
    fn joined(tables: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let first = tables.first().ok_or_else(|| PyValueError::new_err("no tables to join"))?;
        let rows: Vec<_> = tables.iter().map(|table| table.batch.num_rows()).collect();
        let parts = (0_u32..).zip(&rows).flat_map(|(part, &rows)| std::iter::repeat_n(part, rows));
        let parts: ArrayRef = Arc::new(UInt32Array::from_iter_values(parts));
        let mut columns = vec![("part".to_owned(), parts, true)];
        for (index, field) in first.batch.schema_ref().fields().iter().enumerate() {
            let pieces: Vec<_> = tables.iter().map(|table| table.batch.column(index).to_data()).collect();
            let mut whole = MutableArrayData::new(pieces.iter().collect(), false, rows.iter().sum());
            for (piece, &rows) in rows.iter().enumerate() {
                whole.try_extend(piece, 0, rows).map_err(to_value_error)?;
            }
            columns.push((field.name().clone(), make_array(whole.freeze()), true));
        }
        let batch = RecordBatch::try_from_iter_with_nullable(columns).map_err(to_value_error)?;
        Ok(Self { batch })
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The Arrow C stream; the columns are shared, not copied. `requested_schema` is ignored, as the
    /// interface permits.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(batches));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl TryFrom<Table> for Columns {
    type Error = PyErr;

    fn try_from(table: Table) -> PyResult<Self> {
        let columns = table.columns.into_iter().map(|column| Ok((column.name, array(column.data)?)));
        let columns: Vec<_> = columns.collect::<Result<_, ArrowError>>().map_err(to_value_error)?;
        let fields = columns.into_iter().map(|(name, array)| (name, array, true));
        let batch = RecordBatch::try_from_iter_with_nullable(fields).map_err(to_value_error)?;
        Ok(Self { batch })
    }
}

/// Counts become signed, because differences of unsigned columns would wrap around.
fn array(data: Data) -> Result<ArrayRef, ArrowError> {
    Ok(match data {
        Data::Integer(values) => {
            let signed = values.into_iter().map(i64::try_from).collect::<Result<Vec<_>, _>>();
            Arc::new(Int64Array::from(signed.map_err(|e| ArrowError::CastError(e.to_string()))?))
        }
        Data::OptionalInteger(values) => {
            let signed = values.into_iter().map(|value| value.map(i64::try_from).transpose());
            let signed = signed.collect::<Result<Vec<_>, _>>();
            Arc::new(Int64Array::from(signed.map_err(|e| ArrowError::CastError(e.to_string()))?))
        }
        Data::Real(values) => Arc::new(Float64Array::from(values)),
        Data::Flag(values) => Arc::new(BooleanArray::from(values)),
        Data::Word { words, rows } => {
            let keys = UInt32Array::from(rows);
            Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(StringArray::from(words)))?)
        }
    })
}

#[expect(clippy::needless_pass_by_value, reason = "the shape that map_err wants")]
fn to_value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}
