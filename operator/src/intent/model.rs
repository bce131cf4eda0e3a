//! The model of a spec, with its parameters counted.

use super::Reader;
use crate::refusal::RefusalReason;
use wellfed_crds::Dtype;
use wellfed_engine::sizing;

impl Reader<'_> {
    pub(super) fn model(&mut self, model: &wellfed_crds::Model) -> Option<sizing::Model> {
        match model.params.to_f64() {
            Ok(params) => Some(sizing::Model { params, dtype: dtype(model.dtype), sharded: model.sharded }),
            Err(error) => {
                self.refuse("spec.model.params".to_owned(), RefusalReason::BadValue, error.to_string());
                None
            }
        }
    }
}

const fn dtype(dtype: Dtype) -> sizing::Dtype {
    match dtype {
        Dtype::FP32 => sizing::Dtype::FP32,
        Dtype::BF16 => sizing::Dtype::BF16,
        Dtype::FP16 => sizing::Dtype::FP16,
        Dtype::FP8 => sizing::Dtype::FP8,
        Dtype::INT8 => sizing::Dtype::INT8,
        Dtype::INT4 => sizing::Dtype::INT4,
    }
}
